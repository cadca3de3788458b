package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The application's user may have no further thread: what the agent needs for a scrape, it has. */
@Tag("root-attaches")
class ThreadsTest {

    private final int port = Jvm.freePort();

    @TempDir
    Path directory;

    /** One connection after another, as a scraper makes them that closes each. */
    @Test
    void scrapesNeedNone() throws Exception {
        try (Jvm jvm = loaded()) {
            exhaust(jvm);
            List<String> out = jvm.out();
            for (int i = 0; i < 10; i++) {
                String answer = request("close");
                assertTrue(answer.startsWith("HTTP/1.1 200 ") && answer.contains("\njmx_scrape_error 0.0\n"), answer);
            }
            assertEquals(out, jvm.out());
            assertEquals(List.of(), jvm.err());
            assertEquals(0, jvm.end());
        }
    }

    /** A second scraper gets its answers, too, and the JVM says once at most that there was no thread. */
    @Test
    void twoScrapers() throws Exception {
        try (Jvm jvm = loaded(); Socket idle = new Socket("127.0.0.1", port)) {
            idle.getOutputStream().write("GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            assertEquals('H', idle.getInputStream().read());
            exhaust(jvm);
            int lines = jvm.out().size();
            for (int i = 0; i < 10; i++) {
                String answer = request("close");
                assertTrue(answer.startsWith("HTTP/1.1 200 "), "answer " + i + ": " + answer + jvm.out());
            }
            assertRefusedOnce(jvm, lines);
            assertEquals(0, jvm.end());
        }
    }

    /** However many clients come and go: the JVM is asked for a thread once, and says once that it has none. */
    @Test
    void manyClients() throws Exception {
        try (Jvm jvm = loaded()) {
            List<Socket> clients = connect(4);
            exhaust(jvm);
            int lines = jvm.out().size();
            for (int count : new int[] {1, 4, 2, 3}) {
                clients.addAll(connect(count));
                for (Socket client : clients) {
                    client.close();
                }
                clients.clear();
            }
            assertTrue(request("close").startsWith("HTTP/1.1 200 "));
            assertRefusedOnce(jvm, lines);
            assertEquals(0, jvm.end());
        }
    }

    /** Clients that have an answer and keep their connection. */
    private List<Socket> connect(int count) throws IOException {
        List<Socket> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Socket client = new Socket("127.0.0.1", port);
            client.setSoTimeout(60_000);
            client.getOutputStream().write("GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            assertEquals('H', client.getInputStream().read());
            clients.add(client);
        }
        return clients;
    }

    /** Nor is it asked for one by each scrape while a collection hangs on the only thread for them. */
    @Test
    void collectionHangs() throws Exception {
        try (Jvm jvm = loaded(SlowBean.class.getName())) {
            assertEquals("calls: 1", jvm.ask("calls"));
            exhaust(jvm);
            int lines = jvm.out().size();
            Path own = directory.resolve("own");
            Desired desired = Desired.running(port, Files.writeString(own.resolve("other.yaml"), "includeObjectNames: ['java.lang:*']\n"))
                    .implementation(own.resolve("exporter.jar"));
            desired.write(own.resolve("desired"));
            assertEquals("running", jvm.answer(desired).get("state"));
            for (int i = 0; i < 5; i++) {
                String answer = request("close");
                assertTrue(answer.startsWith("HTTP/1.1 503 ") && answer.contains("no thread"), answer);
            }
            assertRefusedOnce(jvm, lines);
            assertEquals(0, jvm.end());
        }
    }

    /** Two threads wait, and two more are there for a scrape: no connection or collection made them. */
    @Test
    void keepsOneOfEachKind() throws Exception {
        try (Jvm jvm = loaded()) {
            for (int i = 0; i < 3; i++) {
                request("close");
                Jvm.until("the connection's thread waits again", () -> names(jvm).equals(List.of("agent", "collector", "http", "http-1")));
            }
            assertEquals(0, jvm.end());
        }
    }

    /** The JVM prints a line that names the thread, beside others, and those of its own threads for the compilers. */
    private static void assertRefusedOnce(Jvm jvm, int linesBefore) throws IOException {
        List<String> said = jvm.out().subList(linesBefore, jvm.out().size());
        assertEquals(1, said.stream().filter(line -> line.contains("jmx-exporter-")).count(), said.toString());
    }

    private static List<String> names(Jvm jvm) throws Exception {
        return jvm.threads("jmx-exporter-.*").stream().map(line -> line.replaceAll("^\"jmx-exporter-([^\"]*)\".*", "$1")).sorted().toList();
    }

    /** The subject with these beans, and the agent. */
    private Jvm loaded(String... beans) throws Exception {
        permit(directory);
        List<String> arguments = new ArrayList<>(List.of("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading", Subject.class.getName()));
        arguments.addAll(List.of(beans));
        Jvm jvm = Jvm.runAs(Users.LIMITED, directory, arguments.toArray(new String[0]));
        Path own = permit(Files.createDirectory(directory.resolve("own")));
        Files.copy(Jvm.AGENT, own.resolve("agent.jar"));
        Files.copy(Jvm.EXPORTER, own.resolve("exporter.jar"));
        Desired desired = Desired.running(port, Files.writeString(own.resolve("config.yaml"), "{}\n")).implementation(own.resolve("exporter.jar"));
        desired.write(own.resolve("desired"));
        jvm.loadAgent(own.resolve("agent.jar"), own.resolve("desired").toString());
        Map<String, String> mark = jvm.answer(desired);
        assertEquals("running", mark.get("state"), mark.toString());
        return jvm;
    }

    /** From now on the user may have no thread more than there are. */
    private void exhaust(Jvm jvm) throws Exception {
        Users.LIMITED.run(directory, "prlimit --pid $1 --nproc=1:1", String.valueOf(jvm.process.pid()));
        assertEquals("threads: 0", jvm.ask("start-threads 1"), "the limit holds");
    }

    private String request(String connection) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: " + connection + "\r\n\r\n").getBytes());
            return new String(socket.getInputStream().readAllBytes());
        }
    }

    private static Path permit(Path path) throws IOException {
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
}
