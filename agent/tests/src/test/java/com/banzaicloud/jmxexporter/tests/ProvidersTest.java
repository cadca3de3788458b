package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the application plugged into the JDK for itself is not started by the agent. */
class ProvidersTest {

    private final int port = Jvm.freePort();

    @TempDir
    Path directory;

    /** Jetty takes the place of the JDK's HTTP server in all of the JVM, and logs. */
    @Test
    void httpServer() throws Exception {
        try (var jars = Files.list(Path.of(System.getProperty("jars"), "jetty"));
                Jvm jvm = Jvm.run("-cp", Jvm.classPath(jars.toArray(Path[]::new)), Subject.class.getName())) {
            serves(jvm);
            assertFalse(jvm.jcmd("VM.class_hierarchy").contains("org.eclipse.jetty"), "nothing of Jetty is loaded");
            assertNothingSaid(jvm);
        }
    }

    /** JMX itself logs what it does; all else that says something here was asked by us. */
    @Test
    void loggers() throws Exception {
        Path services = Files.createDirectories(directory.resolve("META-INF/services"));
        Files.writeString(services.resolve("java.lang.System$LoggerFinder"), NoisyLoggerFinder.class.getName());
        Path logging = Path.of(NoisyLoggerFinder.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (Jvm jvm = Jvm.run("-cp", Jvm.classPath(directory, logging), Subject.class.getName())) {
            serves(jvm);
            assertEquals(0, jvm.end());
            // It may look for its configuration there, and keep what it finds.
            assertEquals(List.of("ready", "the logger finder is made in the application's context"),
                    jvm.out().stream().filter(line -> !line.startsWith("javax.management")).toList());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** An application may make all sockets of its JVM itself; an interrupt then costs ours no more than a moment. */
    @Test
    void sockets() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.tell("break-sockets");
            serves(jvm);
            jvm.tell("interrupt");
            Jvm.until("the port is open again", () -> {
                try {
                    return Scrape.metrics(port).contains("jmx_scrape_error");
                } catch (IOException closed) {
                    return false;
                }
            });
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready", "ok", "ok"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }

    private void serves(Jvm jvm) throws Exception {
        assertEquals("running", jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n"))).get("state"));
        assertTrue(Scrape.metrics(port).contains("jmx_scrape_error"));
        assertEquals(200, Scrape.request("HEAD", port, "/-/healthy").statusCode());
    }

    private static void assertNothingSaid(Jvm jvm) throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
    }
}
