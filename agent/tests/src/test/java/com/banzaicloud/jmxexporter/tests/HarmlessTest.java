package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.tools.attach.AttachOperationFailedException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The application does not notice the agent, and the agent does not mind the application. */
class HarmlessTest {

    private final int port = Jvm.freePort();

    @Test
    void applicationExitsWhenItIsDone() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    /** What costs classes, memory and CPU is the application's to start. */
    @Test
    void startsNoPartOfTheJvm() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            assertTrue(Scrape.metrics(port).contains("java_lang_Threading_ThreadCount"));
            List<String> started = jvm.jcmd("VM.class_hierarchy").lines()
                    .map(line -> line.replaceAll("^[|\\- ]*", "").replaceAll("/.*", ""))
                    .filter(name -> name.equals("jdk.jfr.internal.MetadataRepository")
                            || name.equals("java.security.Provider"))
                    .toList();
            assertEquals(List.of(), started);
        }
    }

    /** What the agent has open, the processes that the application starts do not get, in whichever way the JDK starts them. */
    @ParameterizedTest
    @ValueSource(strings = {"FORK", "VFORK", "POSIX_SPAWN"})
    void childrenInheritNothing(String mechanism) throws Exception {
        try (Jvm jvm = Jvm.start("-Djdk.lang.Process.launchMechanism=" + mechanism)) {
            load(jvm);
            try (Socket kept = new Socket("127.0.0.1", port)) {
                kept.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
                assertEquals('H', kept.getInputStream().read());
                assertTrue(jvm.openFiles().stream().filter(file -> file.startsWith("socket:")).count() >= 2, "nothing to inherit");
                String files = jvm.ask("run ls -l /proc/self/fd");
                assertTrue(files.contains(" 1 -> pipe:"), files);
                assertFalse(files.contains("socket:") || files.contains(".jar"), files);
            }
            assertEquals(0, jvm.end());
        }
    }

    @Test
    void applicationHasSecurityProviders() throws Exception {
        Path providers = Files.createTempFile("providers", ".properties");
        Files.writeString(providers, "security.provider.1=" + SecurityProvider.class.getName() + "\nsecurity.provider.2=SUN\n");
        try (Jvm jvm = Jvm.start("-Djava.security.properties=" + providers)) {
            load(jvm);
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        } finally {
            Files.delete(providers);
        }
    }

    @Test
    void applicationReplacesItsProperties() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Map<String, String> mark = load(jvm);
            jvm.tell("replace-properties");
            assertEquals(mark, jvm.markWith(m -> !m.isEmpty()));
        }
    }

    @Test
    void applicationInterruptsEveryThread() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            Scrape.metrics(port);
            jvm.tell("interrupt");
            Scrape.metrics(port);
            assertEquals("running", jvm.desire(Desired.running(port, jvm.file("other.yaml", "rules: []\n"))).get("state"));
            assertEquals(0, jvm.end());
        }
    }

    @Test
    void applicationReplacesItsStreams() throws Exception {
        // JDK 25 prints its warning through System.err; the option says that it need not warn. Java 8 does not know it.
        try (Jvm jvm = Jvm.start("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading")) {
            jvm.tell("break-streams");
            load(jvm);
            Scrape.metrics(port);
            jvm.desire(Desired.running(port, jvm.file("bad.yaml", "rules: [")));
            jvm.desire(Desired.running(0, jvm.file("other.yaml", "rules: []\n")));
            jvm.desire(Desired.stopped());
            assertEquals(0, jvm.end());
        }
    }

    /** The stock exporter's libraries log to where the application logs, and change the format of its log. */
    @Test
    void logOfTheApplicationIsItsOwn() throws Exception {
        try (Jvm outer = Jvm.start()) {
            Path logging = outer.file("logging.properties", "handlers=java.util.logging.ConsoleHandler\n"
                    + "java.util.logging.ConsoleHandler.level=ALL\n.level=CONFIG\n"
                    + "java.util.logging.SimpleFormatter.format=%4$s: %5$s%n\n");
            try (Jvm jvm = Jvm.run("-Djava.util.logging.config.file=" + logging, Subject.class.getName(), SampleBeans.class.getName())) {
                load(jvm);
                Scrape.metrics(port);
                Scrape.request("HEAD", port, "/metrics");
                Scrape.request("HEAD", port, "/-/healthy");
                jvm.desire(Desired.running(port, jvm.file("bad.yaml", "rules: [{pattern: '('}]\n")));
                jvm.desire(Desired.running(port, jvm.file("duplicate.yaml", "rules: []\nrules: []\n")));
                jvm.tell("log");
                jvm.desire(Desired.stopped());
                assertEquals(0, jvm.end());
                assertEquals(List.of("ready", "ok"), jvm.out());
                assertEquals(List.of("INFO: about the application"), jvm.err());
            }
        }
    }

    /** Settings for client libraries of the application are not ours, not even wrong ones. */
    @Test
    void settingsOfTheApplicationAreItsOwn() throws Exception {
        try (Jvm jvm = Jvm.start("-Dio.prometheus.exporter.unknown=1", "-Djmx.prometheus.exporter.developer.debug=true")) {
            assertEquals("running", load(jvm).get("state"));
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    /** The agent lives in 8 MiB, and leaves them all to the application. */
    @Test
    void applicationHasLittleMemory() throws Exception {
        try (Jvm jvm = Jvm.start("-Xmx8m", "-XX:+UseSerialGC")) {
            assertEquals("running", load(jvm).get("state"));
            assertEquals("CollectionTooLarge", jvm.markWith(mark -> mark.containsKey("reason")).get("reason"));
            assertEquals(503, Scrape.get(port, "/metrics").statusCode());
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    /** Of 2 MiB, the subject has one to spare: the exporter does not fit. */
    @Test
    void applicationHasTooLittleMemory() throws Exception {
        try (Jvm jvm = Jvm.start("-Xmx2m", "-XX:+UseSerialGC")) {
            jvm.mark(); // A class that the JVM's answer needs and that fails to initialize in a full heap stays unusable.
            Desired.running(port, jvm.file("config.yaml", "{}\n")).write(jvm.desiredFile());
            jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());
            Jvm.until("the agent says that it failed", () -> "failed".equals(markWithMemory(jvm).get("state")));
            Map<String, String> mark = markWithMemory(jvm);
            assertEquals("AgentFailed", mark.get("reason"));
            assertTrue(mark.get("message").contains("OutOfMemoryError"), mark.get("message"));
            assertTrue(Scrape.refused(port), "somebody serves the port");
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    /** The mark; while the heap is full, even the JVM's own answer may not fit into it. */
    private static Map<String, String> markWithMemory(Jvm jvm) throws Exception {
        try {
            return jvm.mark();
        } catch (AttachOperationFailedException full) {
            return Map.of();
        }
    }

    /**
     * A policy that gives the agent nothing keeps it from the system properties, so it can neither start nor say
     * why: no mark, with the agent's jar open, is what the helper then reports.
     */
    @Test
    @Tag("security-manager")
    void applicationHasASecurityManager() throws Exception {
        try (Jvm outer = Jvm.start()) {
            Path policy = outer.file("policy", "grant { permission java.io.FilePermission \"<<ALL FILES>>\", \"read\"; };\n");
            try (Jvm jvm = Jvm.start("-Djava.security.manager", "-Djava.security.policy==" + policy)) {
                List<String> before = jvm.err(); // JDK 17 says that it is about to lose its security manager.
                Desired.running(port, jvm.file("config.yaml", "{}\n")).write(jvm.desiredFile());
                jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());
                Jvm.until("the agent has no thread", () -> !jvm.jcmd("Thread.print").contains("jmx-exporter"));
                assertEquals(Map.of(), jvm.mark());
                assertTrue(jvm.openFiles().contains(Jvm.AGENT.toString()), "the agent's jar is not open");
                assertTrue(Scrape.refused(port), "somebody serves the port");
                assertEquals(0, jvm.end());
                assertEquals(List.of("ready"), jvm.out());
                assertEquals(before, jvm.err());
            }
        }
    }

    private Map<String, String> load(Jvm jvm) throws Exception {
        return jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
    }

    private static void assertUntouched(Jvm jvm) throws Exception {
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
    }
}
