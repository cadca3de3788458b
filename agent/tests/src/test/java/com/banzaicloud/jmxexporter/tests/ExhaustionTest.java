package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The application runs out of what it shares with the agent: nothing gets worse by the agent, which serves again afterwards. */
class ExhaustionTest {

    private static final String REQUEST = "GET /metrics HTTP/1.1\r\nHost: jvm\r\nConnection: close\r\n\r\n";

    private final int port = Jvm.freePort();

    @Test
    void descriptors() throws Exception {
        try (Jvm jvm = Jvm.limited(100, Subject.class.getName())) {
            load(jvm);
            Scrape.metrics(port);
            jvm.tell("open-files 1000");
            try (Socket waiting = new Socket("127.0.0.1", port)) {
                waiting.setSoTimeout(60_000);
                waiting.getOutputStream().write(REQUEST.getBytes());
                long since = System.nanoTime();
                double used = processorSeconds(jvm);
                Jvm.until("some time has passed", () -> System.nanoTime() - since > TimeUnit.SECONDS.toNanos(3));
                double spun = processorSeconds(jvm) - used;
                assertTrue(spun < 0.2, "waiting for a descriptor took seconds of a processor: " + spun);

                jvm.tell("close-files");
                String answer = new String(waiting.getInputStream().readAllBytes());
                assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
            }
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** What the thread that accepts has used, by the kernel's count of hundredths: see proc_pid_stat(5). */
    private static double processorSeconds(Jvm jvm) throws Exception {
        String stat = Files.readString(jvm.tasks("jmx-exporter-http").get("jmx-exporter-http").resolve("stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // From the third on.
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
    }

    @Test
    @Tag("full")
    void heap() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", Subject.class.getName())) {
            load(jvm);
            Scrape.metrics(port);
            jvm.tell("fill-heap");
            for (int i = 0; i < 50; i++) {
                try (Socket socket = new Socket("127.0.0.1", port)) {
                    socket.setSoTimeout(100);
                    socket.getOutputStream().write(REQUEST.getBytes());
                    socket.getInputStream().readAllBytes();
                } catch (IOException noAnswer) {
                    // Without memory, there is none.
                }
            }
            jvm.tell("free-heap");
            Jvm.until("scrapes are answered again", () -> answers());
            assertEquals(0, jvm.end());
            // Of any agent, Java 8 says that there was no memory to show it a class that the JVM loaded.
            assertEquals(List.of(), jvm.err().stream().filter(line -> !line.startsWith("*** java.lang.instrument ASSERTION FAILED ***")).toList());
        }
    }

    /** An application that stops the thread that accepts connections stops it for a moment at most. */
    @Test
    @Tag("thread-stop")
    void threadIsStopped() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            Scrape.metrics(port);
            CompletableFuture<Void> stopped = CompletableFuture.runAsync(() -> stop(jvm, "jmx-exporter-http"));
            Jvm.until("the thread is stopped", () -> {
                connect(); // It notices when it has accepted.
                return stopped.isDone();
            });
            stopped.join();
            Jvm.until("scrapes are answered again", () -> answers());
            assertEquals(1, jvm.threads("jmx-exporter-http").size());
            assertEquals(List.of(), jvm.err());
            assertEquals(0, jvm.end());
        }
    }

    private static void stop(Jvm jvm, String thread) {
        try {
            jvm.tell("stop-threads " + thread);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void connect() {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write('G');
        } catch (IOException refused) {
            // Nobody listens at the moment.
        }
    }

    private void load(Jvm jvm) throws Exception {
        assertEquals("running", jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n"))).get("state"));
    }

    private boolean answers() {
        try {
            return Scrape.metrics(port).contains("jmx_scrape_error");
        } catch (Exception notYet) {
            return false;
        }
    }
}
