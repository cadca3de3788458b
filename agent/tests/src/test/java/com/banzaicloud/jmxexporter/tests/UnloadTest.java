package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Once stopped, nothing but the trampoline's few classes is left in the JVM. */
class UnloadTest {

    private static final String LOADER = "com.banzaicloud.jmxexporter.agent.JarLoader";

    @Test
    @Tag("jvm")
    void stoppedLeavesNothing() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            Path first = jvm.file("first.yaml", "rules: [{pattern: 'java.lang<type=Threading>', cache: true}]\n");
            Path second = jvm.file("second.yaml", "{}\n");
            jvm.load(Desired.running(port, first));
            Scrape.metrics(port);
            jvm.jcmd("GC.run"); // Calls the listeners of the garbage collectors, so that they have something to hold.
            Scrape.get(port, "/metrics", "Accept-Encoding", "gzip", "Accept", "application/openmetrics-text");
            jvm.desire(Desired.running(port, second));
            Scrape.metrics(port);
            assertTrue(onHeap(jvm).keySet().containsAll(List.of("com.banzaicloud.jmxexporter.exporter.Exporter", LOADER)), "the histogram shows them");

            Map<String, String> mark = jvm.desire(Desired.stopped());

            assertEquals("stopped", mark.get("state"));
            assertEquals(Set.of("protocol", "state", "token", "loads"), mark.keySet());
            assertTrue(Scrape.refused(port));
            assertLeavesNothing(jvm);
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** A scrape inside the application's code is left alone, whatever becomes of its port, and leaves nothing once it is out. */
    @Test
    void stoppedWhileInsideAGetter() throws Exception {
        int port = Jvm.freePort();
        int next = Jvm.freePort();
        try (Jvm jvm = Jvm.run(Subject.class.getName(), SlowBean.class.getName())) {
            Path config = jvm.file("config.yaml", "{}\n");
            jvm.load(Desired.running(port, config));
            try (Socket first = request(port)) {
                Jvm.until("a scrape is inside", () -> inside(jvm) == 1);
                assertEquals("running", jvm.desire(Desired.running(next, config)).get("state"));
                assertEquals(-1, first.getInputStream().read());
                assertUnharmed(jvm);
            }
            try (Socket second = request(next)) {
                Jvm.until("it is being answered", () -> jvm.jcmd("Thread.print").contains("ScrapeHandler.handle("));
                assertEquals("stopped", jvm.desire(Desired.stopped()).get("state"));
                assertEquals(-1, second.getInputStream().read());
            }
            assertTrue(Scrape.refused(port));
            assertTrue(Scrape.refused(next));
            assertUnharmed(jvm);
            assertEquals(1, inside(jvm));

            jvm.tell("release");
            assertLeavesNothing(jvm);
            assertUnharmed(jvm);
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.out().stream().filter(line -> !line.matches("ready|ok|open: .*")).toList());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** A client that never ends its request, or never reads its answer, is closed with the port. */
    @Test
    void stoppedWhileClientsStall() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start(); Socket reader = new Socket()) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            reader.setReceiveBufferSize(1024);
            reader.connect(new InetSocketAddress("127.0.0.1", port));
            reader.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: jvm\r\n\r\n".repeat(400).getBytes());
            Jvm.until("an answer is not read", () -> jvm.jcmd("Thread.print").contains("jmxexporter.http.AnswerStream.flush("));
            List<Socket> silent = new ArrayList<>();
            try {
                for (int i = 0; i < 10; i++) {
                    Socket socket = new Socket("127.0.0.1", port);
                    socket.getOutputStream().write('G');
                    silent.add(socket);
                }
                Jvm.until("requests are not ended", () -> jvm.jcmd("Thread.print").contains("http.RequestReader.read("));
                assertEquals("stopped", jvm.desire(Desired.stopped()).get("state"));
                assertLeavesNothing(jvm);
            } finally {
                for (Socket socket : silent) {
                    socket.close();
                }
            }
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }

    private static Socket request(int port) throws Exception {
        Socket socket = new Socket("127.0.0.1", port);
        socket.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: jvm\r\n\r\n".getBytes());
        return socket;
    }

    private static void assertUnharmed(Jvm jvm) throws Exception {
        jvm.tell("report");
        List<String> out = jvm.out();
        assertEquals("open: true, harmed: 0", out.get(out.size() - 2));
    }

    /** How many threads are inside the slow getter. */
    private static long inside(Jvm jvm) throws Exception {
        return jvm.jcmd("Thread.print").lines().filter(line -> line.contains("SlowBean.read")).count();
    }

    @Test
    @Tag("jvm")
    void stoppedLeavesNoMBean() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            jvm.tell("mbeans");
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            Scrape.metrics(port);
            jvm.desire(Desired.stopped());
            jvm.tell("mbeans");
            List<String> seen = jvm.out().stream().filter(line -> line.startsWith("[")).toList();
            assertTrue(seen.get(0).contains("java.lang:type=Runtime"), seen.get(0));
            assertEquals(seen.get(0), seen.get(1));
        }
    }

    /** A first start that is refused holds on to as little. */
    @Test
    void refusedLeavesNothing() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            jvm.tell("listen " + port);
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            assertIsCollected(jvm);
        }
    }

    /** What another implementation took the place of is collected, while that one runs. */
    @Test
    void replacedLeavesNothing() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", "rules: [{pattern: 'java.lang<type=Threading>', cache: true}]\n");
            jvm.load(Desired.running(port, config));
            Scrape.metrics(port);
            Path next = Implementations.compile(jvm, "answer.put(\"state\", desired.get(\"state\"));", "public Map<String, String> get() { return null; }");
            assertEquals("running", jvm.desire(Desired.running(port, config).implementation(next)).get("state"));
            Jvm.until("the replaced one's class loader is collected, and the other one stays", () -> onHeap(jvm).get(LOADER) == 1);
            assertFalse(onHeap(jvm).keySet().stream().anyMatch(name -> name.contains(".shaded.")), "an instance of the replaced one is left");
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    static void assertLeavesNothing(Jvm jvm) throws Exception {
        Jvm.until("its threads are gone", () -> !jvm.jcmd("Thread.print").matches("(?s).*\"jmx-exporter.*"));
        assertIsCollected(jvm);
    }

    /** Its class loader, too, and with that its classes. */
    private static void assertIsCollected(Jvm jvm) throws Exception {
        Jvm.until("nothing of it is on the heap", () -> onHeap(jvm).keySet().stream()
                .allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent.") && !name.equals(LOADER)));
    }

    /** The classes of the agent that have instances, and how many, by a heap histogram, which collects before. */
    private static Map<String, Integer> onHeap(Jvm jvm) throws Exception {
        return jvm.jcmd("GC.class_histogram").lines()
                .map(line -> line.trim().split("\\s+"))
                .filter(columns -> columns.length >= 4) // number, instances, bytes, class, module
                .filter(columns -> columns[3].startsWith("com.banzaicloud.jmxexporter."))
                .filter(columns -> !columns[3].startsWith("com.banzaicloud.jmxexporter.tests."))
                .collect(Collectors.toMap(columns -> columns[3], columns -> Integer.valueOf(columns[1])));
    }
}
