package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Once stopped, nothing but the trampoline's few classes is left in the JVM. */
class UnloadTest {

    /** The application has none of this class. */
    private static final String LOADER = "java.net.URLClassLoader";

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
            assertTrue(onHeap(jvm).containsAll(List.of("com.banzaicloud.jmxexporter.exporter.Exporter", LOADER)), "the histogram shows them");

            Map<String, String> mark = jvm.desire(Desired.stopped());

            assertEquals("stopped", mark.get("state"));
            assertEquals(Set.of("protocol", "state", "token", "loads"), mark.keySet());
            assertTrue(Scrape.refused(port));
            assertFalse(jvm.openFiles().contains(Jvm.EXPORTER.toString()));
            Jvm.until("its threads are gone", () -> !jvm.jcmd("Thread.print").matches("(?s).*\"(jmx-exporter|HTTP-Dispatcher|server-timer|idle-timeout).*"));
            Jvm.until("its class loader is collected", () -> {
                jvm.jcmd("GC.run");
                return ours(jvm).stream().allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent."));
            });
            Jvm.until("nothing of it is on the heap", () -> onHeap(jvm).stream().allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent.")));
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }

    @Test
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
            Jvm.until("its class loader is collected", () -> {
                jvm.jcmd("GC.run");
                return ours(jvm).stream().allMatch(name -> name.startsWith("com.banzaicloud.jmxexporter.agent."));
            });
        }
    }

    /** The classes of the agent that have instances, by a heap histogram, and its class loader. */
    private static List<String> onHeap(Jvm jvm) throws Exception {
        return jvm.jcmd("GC.class_histogram").lines()
                .map(line -> line.trim().split("\\s+"))
                .filter(columns -> columns.length >= 4) // number, instances, bytes, class, module
                .map(columns -> columns[3])
                .filter(name -> name.equals(LOADER) || name.startsWith("com.banzaicloud.jmxexporter."))
                .filter(name -> !name.startsWith("com.banzaicloud.jmxexporter.tests."))
                .toList();
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
