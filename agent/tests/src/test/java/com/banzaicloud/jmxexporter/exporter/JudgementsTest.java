package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Judgements of candidates, one after the other. */
@Isolated("It counts the threads and classes of this JVM.")
class JudgementsTest {

    /** Whoever tries rules may ask as often as they edit them. */
    @Test
    void judgementsLeaveNothing(@TempDir Path directory) throws Exception {
        Exporter exporter = new Exporter();
        Path config = Files.writeString(directory.resolve("config.yaml"), "excludeJvmMetrics: true\nincludeObjectNames: ['java.lang:type=Runtime']\n");
        Path candidate = Files.writeString(directory.resolve("candidate.yaml"), "includeObjectNames: ['java.lang:type=Memory*,*']\nrules: [{pattern: 'java.lang<type=(.*), name=(.*)><(.*)>(.*)', cache: true}, {pattern: '.*'}]\n");
        String port = String.valueOf(freePort());
        try {
            long classes = 0;
            int threads = 0;
            for (int i = 0; i < 350; i++) {
                if (i == 150) { // Reflection makes classes at the 127th call of a method, once.
                    classes = ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount();
                    threads = ManagementFactory.getThreadMXBean().getThreadCount();
                }
                Map<String, String> answer = exporter.apply(Map.of("state", "running", "port", port, "host", "127.0.0.1", "config", config.toString(),
                        "candidate", candidate.toString(), "token", String.valueOf(i)));
                assertNull(answer.get("candidate.reason"), answer.toString());
                assertEquals(String.valueOf(i), answer.get("candidate.token"));
            }
            // Other tests ran in this JVM, whose threads may load one or the other; a class for each judgement would be 200.
            assertTrue(ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount() - classes < 100);
            assertEquals(threads, ManagementFactory.getThreadMXBean().getThreadCount());
            // That of what is served; those of other tests in this JVM, and the last one, may be on a stack still. A leak would be 350.
            assertTrue(instances(Registry.class.getName()) < 10);
            assertEquals(0, instances("$AllocationCountingNotificationListener"));
        } finally {
            exporter.apply(Map.of("state", "stopped"));
        }
    }

    /** How many objects are alive of a class whose name ends like this. */
    private static long instances(String name) throws Exception {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer().invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
                new Object[] {new String[0]}, new String[] {String[].class.getName()});
        return histogram.lines().map(line -> line.trim().split("\\s+"))
                .filter(words -> words.length > 3 && words[3].endsWith(name))
                .mapToLong(words -> Long.parseLong(words[1])).sum();
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
