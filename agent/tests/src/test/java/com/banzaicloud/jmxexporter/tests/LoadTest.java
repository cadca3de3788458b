package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Loading the agent, once, twice, and with what a confused helper might give it. */
class LoadTest {

    private final int port = Jvm.freePort();
    private Jvm jvm;
    private Path config;

    @BeforeEach
    void start() throws Exception {
        jvm = Jvm.start();
        config = jvm.file("config.yaml", "rules: []\n");
    }

    @AfterEach
    void close() throws Exception {
        jvm.close();
    }

    @Test
    @Tag("jvm")
    void servesAndSaysSoInTheMark() throws Exception {
        Desired desired = Desired.running(port, config);
        Map<String, String> mark = jvm.load(desired);
        mark.keySet().removeIf(key -> key.startsWith("collection.")); // They may follow.

        assertEquals(Map.of(
                "protocol", "1",
                "state", "running",
                "agent", "1.0.0",
                "port", String.valueOf(port),
                "config.sha256", Desired.sha256(config),
                "implementation.sha256", Desired.sha256(Jvm.EXPORTER),
                "token", desired.token(),
                "loads", "1",
                "reloads", "0",
                "reload.failures", "0"), mark);
        assertTrue(Scrape.metrics(port).contains("jmx_exporter_build_info"));
        assertTrue(jvm.openFiles().contains(Jvm.AGENT.toString()), "the agent's jar witnesses that it was loaded");
        assertFalse(jvm.openFiles().contains(Jvm.EXPORTER.toString()), "the implementation takes no descriptor of the application's");
    }

    @Test
    @Tag("jvm")
    void secondLoadIsHarmless() throws Exception {
        Map<String, String> first = jvm.load(Desired.running(port, config));
        jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());

        Map<String, String> second = jvm.markWith(mark -> "2".equals(mark.get("loads")));
        assertEquals(first.get("token"), second.get("token"));
        assertEquals("running", second.get("state"));
        assertOneAgent();
    }

    @Test
    void secondCopyOfTheJarIsHarmless() throws Exception {
        jvm.load(Desired.running(port, config));
        Path copy = Files.copy(Jvm.AGENT, jvm.desiredFile().resolveSibling("copy.jar"));
        jvm.loadAgent(copy, jvm.desiredFile().toString());

        assertEquals("running", jvm.markWith(mark -> "2".equals(mark.get("loads"))).get("state"));
        assertOneAgent();
    }

    @Test
    void secondLoadIgnoresItsArgument() throws Exception {
        jvm.load(Desired.running(port, config));
        jvm.loadAgent(Jvm.AGENT, "/another/desired");

        assertEquals("running", jvm.markWith(mark -> "2".equals(mark.get("loads"))).get("state"));
        assertOneAgent();
    }

    @Test
    void loadsWithoutAnArgument() throws Exception {
        jvm.loadAgent(Jvm.AGENT, null);
        Map<String, String> mark = jvm.mark();
        assertEquals("stopped", mark.get("state"), "nobody watches, so it is worth another load");
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains("without an argument"), mark.get("message"));

        assertEquals("2", jvm.load(Desired.running(port, config)).get("loads"));
        assertOneAgent();
    }

    @Test
    void waitsForTheDesiredFile() throws Exception {
        jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());
        Map<String, String> mark = jvm.markWith(m -> "failed".equals(m.get("state")));
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains(jvm.desiredFile().toString()), mark.get("message"));

        assertEquals("running", jvm.desire(Desired.running(port, config)).get("state"));
    }

    @Test
    @Tag("jvm")
    void startsWithItsApplication() throws Exception {
        Desired desired = Desired.running(port, config);
        desired.write(jvm.desiredFile());
        try (Jvm other = Jvm.start("-javaagent:" + Jvm.AGENT + "=" + jvm.desiredFile())) {
            assertEquals("1", other.markWith(m -> desired.token().equals(m.get("token"))).get("loads"));
            Scrape.metrics(port);
            assertEquals(0, other.end());
        }
    }

    private void assertOneAgent() throws Exception {
        assertEquals(1, jvm.jcmd("Thread.print").lines().filter(line -> line.startsWith("\"jmx-exporter-agent\"")).count());
        assertEquals(1, Scrape.metrics(port).lines().filter(line -> line.startsWith("jmx_exporter_build_info")).count());
    }
}
