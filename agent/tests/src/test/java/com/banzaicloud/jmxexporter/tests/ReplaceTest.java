package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Implementations of tomorrow under the trampoline of today, which stays in a JVM whatever comes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReplaceTest {

    private final int port = Jvm.freePort();
    private Jvm jvm;
    private Path config;

    /** One JVM lives through all of them. */
    @BeforeAll
    void start() throws Exception {
        jvm = Jvm.start();
    }

    /** Another load has the agent look at once, whatever the test before has left. */
    @BeforeEach
    void load() throws Exception {
        config = jvm.file("config.yaml", "rules: []\n");
        Map<String, String> mark = jvm.load(Desired.running(port, config));
        assertEquals("running 1.0.0", mark.get("state") + " " + mark.get("agent"), mark.toString());
    }

    @AfterAll
    void close() throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of(), jvm.err());
        jvm.close();
    }

    @Test
    @Tag("jvm")
    void newerTakesOver() throws Exception {
        Path newer = implementation("answer.put(\"state\", desired.get(\"state\"));"
                + "answer.put(\"agent\", \"99\"); answer.put(\"color\", desired.get(\"color\")); answer.put(\"nothing\", null);");
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(newer).with("color", "blue & green"));
        assertEquals("running", mark.get("state"));
        assertEquals("99", mark.get("agent"));
        assertEquals("blue & green", mark.get("color"));
        assertEquals(Desired.sha256(newer), mark.get("implementation.sha256"));
        assertTrue(Scrape.refused(port), "the old one has stopped");

        assertEquals("1.0.0", jvm.desire(Desired.running(port, config)).get("agent"));
        Scrape.metrics(port);
    }

    /** What runs keeps running, or runs again, when its replacement does not. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "throw new IllegalStateException(\"broken & new\");        | AgentFailed   | broken & new",
        "throw new StackOverflowError(\"deep\");                   | AgentFailed   | deep",
        "throw new OutOfMemoryError(\"Java heap space\");          | AgentFailed   | Java heap space",
        "throw new NoClassDefFoundError(\"java/beans/Introspector\"); | MissingModule | java.desktop",
        "throw new NoClassDefFoundError(\"sun/misc/Unsafe\");      | MissingModule | jdk.unsupported",
        "throw new NoClassDefFoundError(\"javax/management/MBeanServer\"); | MissingModule | java.management",
        "throw new NoClassDefFoundError(\"com/example/Lost\");     | AgentFailed   | com/example/Lost",
        "answer.put(\"state\", \"failed\"); answer.put(\"reason\", \"PortInUse\"); answer.put(\"message\", \"taken\"); | PortInUse | taken",
        "answer.put(\"state\", \"failed\");                        | NULL          | NULL",
    }, nullValues = "NULL")
    void brokenOneDoesNotTakeOver(String body, String reason, String named) throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(implementation(body)));
        assertEquals("running", mark.get("state"));
        assertEquals(reason, mark.get("reason"));
        assertTrue(named == null || mark.get("message").contains(named), mark.get("message"));
        assertEquals(Desired.sha256(Jvm.EXPORTER), mark.get("implementation.sha256"));
        assertEquals("1.0.0", mark.get("agent"));
        Scrape.metrics(port);
    }

    /** The old one's configuration may have been pruned: what is desired names another one. */
    @Test
    void brokenOneDoesNotTakeOverWhenTheOldFileIsGone() throws Exception {
        String served = Desired.sha256(config);
        Path other = jvm.file("other.yaml", "rules: [{pattern: 'java.lang.*'}]\n");
        Path broken = implementation("throw new IllegalStateException(\"broken\");");
        Files.delete(config);
        for (int again = 0; again < 2; again++) {
            Map<String, String> mark = jvm.desire(Desired.running(port, other).implementation(broken));
            assertEquals("running", mark.get("state"), mark.toString());
            assertEquals("AgentFailed", mark.get("reason"));
            assertEquals(served, mark.get("config.sha256"));
            assertEquals("1.0.0", mark.get("agent"));
            Scrape.metrics(port);
        }
        assertEquals(Desired.sha256(other), jvm.desire(Desired.running(port, other)).get("config.sha256"));
    }

    @Test
    void missingOneDoesNotTakeOver() throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, config).with("implementation", "/gone.jar").with("implementation.sha256", "0"));
        assertEquals("running", mark.get("state"));
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains("/gone.jar"), mark.get("message"));
        assertEquals(String.valueOf(port), mark.get("port"));
        Scrape.metrics(port);
    }

    /** What is served with a reason of its own, such as a rule that was switched off, is returned to as well. */
    @Test
    void brokenOneDoesNotTakeOverFromOneThatServesWithAReason() throws Exception {
        Path complaining = implementation("if (desired.get(\"config\") == null) throw new IllegalStateException(\"started without a configuration\");"
                + "answer.put(\"state\", desired.get(\"state\")); answer.put(\"agent\", \"99\"); answer.put(\"port\", desired.get(\"port\"));"
                + "answer.put(\"config.sha256\", desired.get(\"config.sha256\")); answer.put(\"reason\", \"RuleTooExpensive\");");
        try (Jvm own = Jvm.start()) { // Nobody can stop that one.
            own.load(Desired.running(port, config).implementation(complaining));
            Path broken = implementation("throw new IllegalStateException(\"broken\");");
            Map<String, String> mark = own.desire(Desired.running(port, config).implementation(broken));
            assertEquals("running", mark.get("state"), mark.toString());
            assertEquals("99", mark.get("agent"));
            assertEquals("AgentFailed", mark.get("reason"));
            assertEquals(0, own.end());
            assertEquals(List.of(), own.err());
        }
    }

    /** One that throws after it has opened the port is stopped: the next could not start there. */
    @Test
    void brokenOneGivesThePortBack() throws Exception {
        Path broken = implementation("try { if (\"stopped\".equals(desired.get(\"state\"))) { if (socket != null) socket.close(); }"
                + "else { socket = new java.net.ServerSocket(Integer.parseInt(desired.get(\"port\")));"
                + "Thread holder = new Thread(() -> { try { socket.accept(); } catch (java.io.IOException closed) { } }); holder.setDaemon(true); holder.start(); } }"
                + "catch (java.io.IOException e) { throw new IllegalStateException(e); }"
                + "if (!\"stopped\".equals(desired.get(\"state\"))) throw new OutOfMemoryError(\"unable to create native thread\");",
                "private java.net.ServerSocket socket;");
        jvm.desire(Desired.stopped());
        Map<String, String> mark = jvm.load(Desired.running(port, config).implementation(broken));
        assertEquals("failed", mark.get("state"));
        assertTrue(mark.get("message").contains("unable to create native thread"), mark.get("message"));

        mark = jvm.desire(Desired.running(port, config));
        assertEquals("running", mark.get("state"), mark.toString());
        Scrape.metrics(port);
    }

    /** One that throws later is not taken for gone: nobody knows what it still holds. */
    @Test
    void throwsWhenReconfigured() throws Exception {
        Path moody = implementation("if (desired.containsKey(\"throw\")) throw new IllegalStateException(\"moody\");"
                + "answer.put(\"state\", desired.get(\"state\")); answer.put(\"agent\", \"99\");");
        jvm.desire(Desired.running(port, config).implementation(moody));
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(moody).with("throw", "1"));
        assertEquals("running", mark.get("state"));
        assertEquals("99", mark.get("agent"));
        assertTrue(mark.get("message").contains("moody"), mark.get("message"));

        mark = jvm.desire(Desired.running(port, config).implementation(moody));
        assertFalse(mark.containsKey("reason"), mark.toString());
        jvm.desire(Desired.stopped());
    }

    /** Between two desired files, too: what it says of itself stands in the mark, beside what it answered. */
    @Test
    void saysWhatChangedSinceItAnswered() throws Exception {
        Path talkative = Implementations.compile(jvm, "answer.put(\"state\", desired.get(\"state\"));",
                "public Map<String, String> get() { if (System.getProperty(\"talk\") == null) return null;"
                        + "Map<String, String> said = new HashMap<>(); said.put(\"reason\", System.getProperty(\"talk\")); said.put(\"message\", \"said later\"); return said; }");
        Desired desired = Desired.running(port, config).implementation(talkative);
        assertFalse(jvm.desire(desired).containsKey("reason"));

        jvm.tell("set talk RuleTooExpensive");
        Map<String, String> mark = jvm.markWith(m -> "RuleTooExpensive".equals(m.get("reason")));
        assertEquals("said later", mark.get("message"));
        assertEquals("running", mark.get("state"));
        assertEquals(desired.token(), mark.get("token"));

        Map<String, String> refused = jvm.desire(Desired.running(port, config).with("implementation.sha256", null));
        assertEquals("AgentFailed", refused.get("reason"), "an answer's own reason comes first");
        jvm.desire(Desired.stopped());
        assertFalse(jvm.mark().containsKey("reason"), "what is stopped says nothing more");
    }

    private Path implementation(String body) throws IOException {
        return implementation(body, "");
    }

    private Path implementation(String body, String members) throws IOException {
        return Implementations.compile(jvm, body, "public Map<String, String> get() { return null; }" + members);
    }
}
