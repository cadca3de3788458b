package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Once stopped, nothing but the trampoline's few classes is left in the JVM. */
class UnloadTest {

    @Test
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
            assertTrue(ours(jvm).stream().anyMatch(name -> name.contains("JmxCollector")), "the look for classes finds them");

            jvm.desire(Desired.stopped());

            assertTrue(Scrape.refused(port));
            assertFalse(jvm.openFiles().contains(Jvm.EXPORTER.toString()));
            Jvm.until("its threads are gone", () -> !jvm.jcmd("Thread.print").matches("(?s).*\"(jmx-exporter|HTTP-Dispatcher|server-timer|idle-timeout).*"));
            Jvm.until("its class loader is collected", () -> {
                jvm.jcmd("GC.run");
                return ours(jvm).stream().allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent."));
            });
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** A first start that is refused holds on to as little. */
    @Test
    void refusedLeavesNothing() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            jvm.tell("listen " + port);
            jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            Jvm.until("its class loader is collected", () -> {
                jvm.jcmd("GC.run");
                return ours(jvm).stream().allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent."));
            });
        }
    }

    /** The classes of the agent that the JVM has loaded. */
    private static List<String> ours(Jvm jvm) throws Exception {
        return jvm.jcmd("VM.class_hierarchy").lines()
                .map(line -> line.replaceAll("^[|\\- ]*", ""))
                .filter(line -> line.startsWith("com.banzaicloud.jmxexporter."))
                .filter(line -> !line.startsWith("com.banzaicloud.jmxexporter.tests."))
                .toList();
    }
}
