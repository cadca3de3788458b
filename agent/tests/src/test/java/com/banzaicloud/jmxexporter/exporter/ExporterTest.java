package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The implementation as the trampoline calls it. */
class ExporterTest {

    private static final int CALLS = 1000;

    /** The trampoline asks twice a second, for years. */
    @Test
    void noticesAllocateNothing(@TempDir Path directory) throws Exception {
        Exporter exporter = new Exporter();
        Path config = Files.writeString(directory.resolve("config.yaml"), "includeObjectNames: ['java.lang:type=Runtime']\nrules:\n- pattern: .*\n");
        assertEquals("running", exporter.apply(Map.of("state", "running", "port", String.valueOf(freePort()), "host", "127.0.0.1", "config", config.toString())).get("state"));
        try {
            exporter.get();
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            for (int i = 0; i < CALLS; i++) {
                exporter.get();
            }
            long allocated = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
            assertTrue(allocated < CALLS, allocated + " bytes in " + CALLS + " calls"); // Those of the measurement itself.
        } finally {
            exporter.apply(Map.of("state", "stopped"));
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
