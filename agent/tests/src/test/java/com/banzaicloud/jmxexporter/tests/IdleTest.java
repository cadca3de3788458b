package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** While nobody scrapes, the agent does nothing but look at the desired file. */
class IdleTest {

    private static final String TRAMPOLINE = "jmx-exporter-agent";

    private final int port = Jvm.freePort();

    @Test
    void onlyTheTrampolineWakesUp() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            try (Socket kept = new Socket("127.0.0.1", port)) { // Between two scrapes, a scraper keeps its connection.
                kept.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
                assertEquals('H', kept.getInputStream().read());
                Map<String, Path> threads = jvm.tasks("jmx-exporter-.*");
                awaitLooks(threads, 3); // What the scrape began is done.
                Map<String, Long> before = wakeUps(threads);
                awaitLooks(threads, 10);
                Map<String, Long> after = wakeUps(threads);
                before.remove(TRAMPOLINE);
                after.remove(TRAMPOLINE);
                assertEquals(before, after);
            }
            assertEquals(0, jvm.end());
        }
    }

    private static void awaitLooks(Map<String, Path> threads, int looks) throws Exception {
        long before = wakeUps(threads).get(TRAMPOLINE);
        Jvm.until("the trampoline has looked", () -> wakeUps(threads).get(TRAMPOLINE) >= before + looks);
    }

    /** How often each thread has waited, by the kernel's count: see proc_pid_status(5). */
    private static Map<String, Long> wakeUps(Map<String, Path> threads) throws IOException {
        Map<String, Long> counts = new TreeMap<>();
        for (Map.Entry<String, Path> thread : threads.entrySet()) {
            counts.put(thread.getKey(), Files.readAllLines(thread.getValue().resolve("status")).stream()
                    .filter(line -> line.startsWith("voluntary_ctxt_switches:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).sum());
        }
        return counts;
    }
}
