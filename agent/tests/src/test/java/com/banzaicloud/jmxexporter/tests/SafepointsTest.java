package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The agent seldom has the JVM stop the application's threads, and never many of them. */
class SafepointsTest {

    private final int port = Jvm.freePort();

    @TempDir
    Path directory;

    @Test
    void fewThreads() throws Exception {
        assertEquals(2, deadlockSearches(10), "one for each of the two metrics");
    }

    @Test
    void manyThreads() throws Exception {
        assertEquals(0, deadlockSearches(1000));
    }

    /** In some scrapes, of an application with so many more threads. */
    private long deadlockSearches(int threads) throws Exception {
        Path log = directory.resolve("safepoints");
        try (Jvm jvm = Jvm.start("-Xlog:safepoint:file=" + log, "-Xss256k")) {
            assertEquals("threads: " + threads, jvm.ask("start-threads " + threads));
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            for (int i = 0; i < 5; i++) {
                assertEquals(threads < 1000 ? 1 : 0, Scrape.metrics(port).lines().filter(line -> line.startsWith("jvm_threads_deadlocked ")).count());
            }
            assertEquals(0, jvm.end());
            return Files.readAllLines(log).stream().filter(line -> line.contains("FindDeadlocks")).count();
        }
    }
}
