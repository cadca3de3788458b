package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** An agent that runs follows what is desired: other rules, another port, the end; what it cannot do harms nothing. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FollowTest {

    private final int port = Jvm.freePort();
    private Jvm jvm;
    private Path config;
    private Path other;
    private Path bad;
    /** The mark that each test begins with. */
    private Map<String, String> began;

    /** One JVM lives through all of them. */
    @BeforeAll
    void start() throws Exception {
        jvm = Jvm.start();
    }

    /** Another load has the agent look at once, whatever the test before has left. */
    @BeforeEach
    void load() throws Exception {
        config = jvm.file("config.yaml", rule("before"));
        other = jvm.file("other.yaml", rule("after"));
        bad = jvm.file("bad.yaml", "hostPort: db:1\n");
        began = jvm.load(Desired.running(port, config));
        assertEquals("running", began.get("state"));
        assertFalse(began.containsKey("reason"), began.toString());
    }

    @AfterAll
    void close() throws Exception {
        assertEquals(0, jvm.end());
        jvm.close();
    }

    @Test
    @Tag("jvm")
    void otherRules() throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, other));
        assertEquals("running", mark.get("state"));
        assertEquals(Desired.sha256(other), mark.get("config.sha256"));
        assertServes(port, "after");
        assertFalse(Scrape.metrics(port).contains("before"));
    }

    @Test
    void rejectedRulesLeaveTheOldOnes() throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, bad));
        assertEquals("running", mark.get("state"));
        assertEquals("ConfigRejected", mark.get("reason"));
        assertEquals(Desired.sha256(config), mark.get("config.sha256"));
        assertEquals(String.valueOf(port), mark.get("port"));
        assertServes(port, "before");

        assertFalse(jvm.desire(Desired.running(port, other)).containsKey("reason"));
        assertServes(port, "after");
    }

    /** /-/healthy says which JVM answers, once the agent knows; the port may change hands. */
    @Test
    void identity() throws Exception {
        assertIdentifies(port, "");
        jvm.desire(Desired.running(port, config).with("identity", "00c0ffee"));
        assertIdentifies(port, "00c0ffee");
        int next = Jvm.freePort();
        jvm.desire(Desired.running(next, config).with("identity", "00c0ffee"));
        assertIdentifies(next, "00c0ffee");
        assertEquals("AgentFailed", jvm.desire(Desired.running(next, config).with("host", "192.0.2.1")).get("reason"));
        assertIdentifies(next, "00c0ffee");
        jvm.desire(Desired.running(next, config));
        assertIdentifies(next, "");
    }

    private static void assertIdentifies(int port, String identity) throws Exception {
        HttpResponse<byte[]> response = Scrape.get(port, "/-/healthy");
        assertEquals(200, response.statusCode());
        assertEquals(identity, response.headers().firstValue("Jmx-Exporter-Identity").orElse(""));
    }

    /** The exporter's own counts, which the stock exporter raises when its file changes, agree with the mark. */
    @Test
    void reloadsAreCounted() throws Exception {
        assertReloads(0, 0);
        jvm.desire(Desired.running(port, other));
        assertReloads(1, 0);
        jvm.desire(Desired.running(port, bad));
        assertReloads(1, 1);
        jvm.desire(Desired.running(port, bad)); // Written again, it is tried again.
        assertReloads(1, 2);
        jvm.desire(Desired.running(port, config));
        assertReloads(2, 2);
        jvm.desire(Desired.running(port, config).with("config.sha256", "0"));
        assertReloads(2, 3);
    }

    /** What is no other configuration counts as none: the same again, and one that could not take over with its port. */
    @Test
    void otherChangesAreNoReloads() throws Exception {
        jvm.desire(Desired.running(port, config));
        assertReloads(0, 0);
        int busy = Jvm.freePort();
        jvm.tell("listen " + busy);
        jvm.desire(Desired.running(busy, other));
        assertReloads(0, 0);
        jvm.desire(Desired.running(port, other).with("host", "no host"));
        assertReloads(0, 0);
        assertServes(port, "before");
    }

    @Test
    void reloadsAreCountedOnAnotherPort() throws Exception {
        int next = Jvm.freePort();
        jvm.desire(Desired.running(next, other));
        assertReloads(1, 0);
    }

    /** Since the test began: in the mark, and in the metrics on the port that it names. */
    private void assertReloads(int moreReloads, int moreFailures) throws Exception {
        int reloads = count(began, "reloads") + moreReloads;
        int failures = count(began, "reload.failures") + moreFailures;
        Map<String, String> mark = jvm.mark();
        assertEquals(reloads + " and " + failures, mark.get("reloads") + " and " + mark.get("reload.failures"));
        String metrics = Scrape.metrics(Integer.parseInt(mark.get("port")));
        assertTrue(metrics.contains("\njmx_config_reload_success_total " + reloads + ".0\n"), metrics);
        assertTrue(metrics.contains("\njmx_config_reload_failure_total " + failures + ".0\n"), metrics);
    }

    private static int count(Map<String, String> mark, String key) {
        return Integer.parseInt(mark.get(key));
    }

    @Test
    void configurationIsNotReadAgain() throws Exception {
        Files.writeString(config, rule("after"));
        assertServes(port, "before");
    }

    @Test
    void anotherPort() throws Exception {
        int next = Jvm.freePort();
        Map<String, String> mark = jvm.desire(Desired.running(next, config));
        assertEquals(String.valueOf(next), mark.get("port"));
        assertServes(next, "before");
        assertTrue(Scrape.refused(port));
    }

    @Test
    void anotherPortAndOtherRules() throws Exception {
        int next = Jvm.freePort();
        jvm.desire(Desired.running(next, other));
        assertServes(next, "after");
        assertTrue(Scrape.refused(port));
    }

    @Test
    void busyPortLeavesTheOldOne() throws Exception {
        int busy = Jvm.freePort();
        jvm.tell("listen " + busy);
        Map<String, String> mark = jvm.desire(Desired.running(busy, other));
        assertEquals("running", mark.get("state"));
        assertEquals("PortInUse", mark.get("reason"));
        assertEquals(String.valueOf(port), mark.get("port"));
        assertEquals(Desired.sha256(config), mark.get("config.sha256"));
        assertServes(port, "before");
    }

    @Test
    void samePortOnAnotherHost() throws Exception {
        Map<String, String> moved = jvm.desire(Desired.running(port, config).with("host", "127.0.0.1"));
        assertFalse(moved.containsKey("reason"), moved.toString());
        assertServes(port, "before");

        Map<String, String> mark = jvm.desire(Desired.running(port, other).with("host", "192.0.2.1"));
        assertEquals("running", mark.get("state"));
        assertEquals("AgentFailed", mark.get("reason"));
        assertEquals(Desired.sha256(config), mark.get("config.sha256"));
        assertServes(port, "before");
    }

    @Test
    void nothingNew() throws Exception {
        jvm.desire(Desired.running(port, config));
        assertServes(port, "before");
    }

    @Test
    void unknownKeysAreIgnored() throws Exception {
        Desired desired = Desired.running(port, other).with("color", "blue & green=50% ü\n").with("scheme", "https");
        assertFalse(jvm.desire(desired).containsKey("reason"));
        assertServes(port, "after");
    }

    @Test
    void brokenDesiredFileChangesNothing() throws Exception {
        Map<String, String> before = jvm.mark();
        Files.writeString(jvm.desiredFile(), "%%% no pairs at all");
        Map<String, String> mark = jvm.markWith(m -> m.containsKey("reason"));
        assertEquals("running", mark.get("state"));
        assertEquals(before.get("port"), mark.get("port"));
        assertEquals(before.get("implementation.sha256"), mark.get("implementation.sha256"));
        assertServes(port, "before");
    }

    @Test
    void troubleWithLookingPasses() throws Exception {
        Map<String, String> before = jvm.mark();
        Path aside = jvm.desiredFile().resolveSibling("aside");
        Files.move(jvm.desiredFile(), aside);
        Files.createDirectory(jvm.desiredFile());
        Map<String, String> mark = jvm.markWith(m -> m.containsKey("reason"));
        assertEquals("running", mark.get("state"));

        Files.delete(jvm.desiredFile());
        Files.move(aside, jvm.desiredFile());
        assertEquals(before, jvm.markWith(m -> !m.containsKey("reason")));
        assertServes(port, "before");
    }

    @Test
    void deletedFilesChangeNothing() throws Exception {
        Map<String, String> before = jvm.mark();
        Files.delete(jvm.desiredFile());
        Files.delete(config);
        for (int i = 0; i < 2; i++) { // Each look of the agent ends with the mark in its place.
            jvm.tell("set com.banzaicloud.jmxexporter state=replaced");
            assertEquals(before, jvm.markWith(mark -> !"replaced".equals(mark.get("state"))));
        }
        assertServes(port, "before");
        jvm.desire(Desired.running(port, other));
        assertServes(port, "after");
    }

    @Test
    void messagesSurviveTheEncoding() throws Exception {
        Path odd = jvm.file("ä & b=c%20+\"'.yaml", "hostPort: 1\n");
        Files.writeString(odd, "just ü & = % + words");
        String message = jvm.desire(Desired.running(port, odd)).get("message");
        assertTrue(message.contains("ä & b=c%20+\"'.yaml"), message);
    }

    @Test
    @Tag("jvm")
    void stopsAndStartsAgain() throws Exception {
        Map<String, String> stopped = jvm.desire(Desired.stopped());
        assertEquals("stopped", stopped.get("state"));
        assertFalse(stopped.containsKey("port"), stopped.toString());
        assertTrue(Scrape.refused(port));

        Desired again = Desired.running(port, other);
        again.write(jvm.desiredFile());
        jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());
        Map<String, String> mark = jvm.markWith(m -> again.token().equals(m.get("token")) && !"starting".equals(m.get("state")));
        assertEquals("running", mark.get("state"));
        assertEquals(count(began, "loads") + 1, count(mark, "loads"));
        assertServes(port, "after");
    }

    private static void assertServes(int port, String metric) throws Exception {
        assertTrue(Scrape.metrics(port).contains("\n" + metric + " "), "no metric " + metric);
    }

    /** A metric of this name from an MBean that every JVM has. */
    private static String rule(String name) {
        return "rules:\n- {pattern: 'java.lang<type=Threading><>ThreadCount', name: " + name + "}\n";
    }
}
