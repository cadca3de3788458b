package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules are code: they may take some of the application's CPU, and none once they are not desired any more. */
class RulesTest {

    /** Tracks back for years on every name of an MBean, on every version of Java. */
    static final String EXPENSIVE = ".*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*#x";
    private static final String RULES = "rules:\n"
            + "- {pattern: 'java.lang<type=Threading><>DaemonThreadCount', name: before}\n"
            + "- {pattern: '" + EXPENSIVE + "', name: never}\n"
            + "- {pattern: 'java.lang<type=Threading><>ThreadCount', name: after}\n";

    private final int port = Jvm.freePort();

    @Test
    void expensiveRuleIsSwitchedOffAndNamed() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", RULES);
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            Map<String, String> mark = named(jvm, config);
            assertEquals("running", mark.get("state"));
            assertEquals("RuleTooExpensive", mark.get("reason"));
            assertTrue(mark.get("message").startsWith("Rule 2 (" + EXPENSIVE + ") is switched off"), mark.get("message"));
            assertEquals(Desired.sha256(config), mark.get("config.sha256"));
            for (int i = 0; i < 2; i++) {
                String metrics = Scrape.metrics(port);
                assertTrue(metrics.contains("\nbefore ") && metrics.contains("\nafter "), metrics);
            }
            assertEquals("0", jvm.mark().get("reloads"));

            Path corrected = jvm.file("corrected.yaml", RULES.replace(EXPENSIVE, "#x"));
            mark = jvm.desire(Desired.running(port, corrected));
            assertNull(mark.get("reason"), mark.toString());
            assertEquals("1", mark.get("reloads"));
            assertTrue(Scrape.metrics(port).contains("\nafter "));
            assertEquals(0, jvm.end());
        }
    }

    /** A desired file that was only written again has the agent answer, and not collect. */
    private static Map<String, String> named(Jvm jvm, Path config) throws Exception {
        Desired again = Desired.running(Integer.parseInt(jvm.mark().get("port")), config);
        Jvm.until("the rule is named", () -> jvm.desire(again.with("token", String.valueOf(System.nanoTime()))).containsKey("reason"));
        return jvm.mark();
    }

    /** What a rule makes is kept on the heap until the answer is written. */
    @Test
    void ruleThatMakesTooMuch() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", Subject.class.getName(), SampleBeans.class.getName())) {
            Path config = jvm.file("config.yaml", "rules:\n- {pattern: '(java.lang<type=Threading><>ThreadCount)', name: never, labels: {a: '$1" + "x".repeat(200_000) + "'}}\n"
                    + "- {pattern: '.*', name: many, labels: {a: '" + "x".repeat(60_000) + "'}}\n"
                    + "- {pattern: 'java.lang<type=Runtime><>Uptime', name: after}\n");
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            Map<String, String> mark = named(jvm, config);
            assertEquals("RuleTooExpensive", mark.get("reason"));
            assertTrue(mark.get("message").contains("and 1 more are switched off"), mark.get("message"));
            for (int i = 0; i < 3; i++) {
                String metrics = Scrape.metrics(port);
                assertTrue(metrics.contains("\nafter ") && !metrics.contains("\nmany{"), "what is left is not served");
            }
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** With the collector's parentheses around it, it would be two patterns, of which only one is counted where it matches. */
    @Test
    void patternThatClosesParenthesesOfOthers() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Map<String, String> mark = jvm.load(Desired.running(port, jvm.file("config.yaml", "rules: [{pattern: '(.*Thread.*))|(?:x', name: a}]\n")));
            assertEquals("failed", mark.get("state"));
            assertEquals("ConfigRejected", mark.get("reason"), mark.get("message"));
            assertEquals(0, jvm.end());
        }
    }

    /** A pattern that runs out of stack costs itself, and not the scrape. */
    @Test
    @Tag("jvm")
    void ruleThatNeedsTooMuchStack() throws Exception {
        try (Jvm jvm = Jvm.run("-Xss256k", "-Dlong=" + "x".repeat(20_000), Subject.class.getName(), SampleBeans.class.getName())) {
            Path config = jvm.file("config.yaml", "rules:\n- {pattern: 'sample<type=Long><>Text: (a|x)*y', name: never}\n- {pattern: 'java.lang<type=Threading><>ThreadCount', name: after}\n");
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            assertEquals("RuleTooExpensive", named(jvm, config).get("reason"));
            assertTrue(Scrape.metrics(port).contains("\nafter "));
            assertEquals(0, jvm.end());
        }
    }

    /** Each alternative doubles the ways through the pattern, and none reads a character at the end of a text. */
    @ParameterizedTest
    @Tag("full")
    @ValueSource(strings = {"(|)", "(?:|)", "(a*|b*)", "()?", "(?:(?=)|(?!x))"})
    void choicesThatReadNothing(String choice) throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", RULES.replace("'" + EXPENSIVE + "'", '"' + choice.repeat(40) + "#x\""));
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            Map<String, String> mark = named(jvm, config);
            assertTrue(mark.get("message").startsWith("Rule 2 ("), mark.get("message"));
            String metrics = Scrape.metrics(port);
            assertTrue(metrics.contains("\nbefore ") && metrics.contains("\nafter "), metrics);
            assertEquals(0, jvm.end());
        }
    }

    /** What costs much because there is much is not switched off. */
    @Test
    @Tag("full")
    void innocentRuleStays() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), ManyBeans.class.getName())) {
            Path config = jvm.file("config.yaml", "includeObjectNames: ['sample:type=Topic,name=topic-19*,*']\nrules:\n- {pattern: '(.+)<type=(.+), name=(.+), cluster=(.+), zone=(.+)><>(\\w+): (.+)', name: topic_$6, labels: {name: $3}}\n");
            jvm.load(Desired.running(port, config));
            assertTrue(Scrape.metrics(port).contains("\ntopic_Partitions{name=\"topic-1999\"} 4.0\n"));
            assertFalse(jvm.desire(Desired.running(port, config)).containsKey("reason"), jvm.mark().toString());
            assertEquals(0, jvm.end());
        }
    }

    /** No thread matches any longer when the configuration is corrected, moved or taken away. */
    @Test
    void matchingEndsWhenStopped() throws Exception {
        assertMatchingEnds("stopped");
    }

    /** As when stopped, while the agent goes on. */
    @ParameterizedTest
    @Tag("full")
    @ValueSource(strings = {"corrected", "corrected and moved"})
    void matchingEndsWhenCorrected(String how) throws Exception {
        assertMatchingEnds(how);
    }

    private void assertMatchingEnds(String how) throws Exception {
        int next = Jvm.freePort();
        try (Jvm jvm = Jvm.start()) {
            StringBuilder rules = new StringBuilder("rules:\n"); // So many that their budgets together are the test's whole time.
            for (int i = 0; i < 2000; i++) {
                rules.append("- {pattern: '").append(EXPENSIVE).append(i).append("', name: never}\n");
            }
            assertEquals("running", jvm.load(Desired.running(port, jvm.file("config.yaml", rules.toString()))).get("state"));
            List<Socket> clients = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                clients.add(new Socket("127.0.0.1", port));
                clients.get(i).getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            }
            Jvm.until("rules are matched", () -> matching(jvm) > 0);
            assertEquals(1, matching(jvm), "threads that match");
            Path corrected = jvm.file("corrected.yaml", "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount', name: after}]\n");
            jvm.desire(how.equals("stopped") ? Desired.stopped() : Desired.running(how.equals("corrected") ? port : next, corrected));
            Jvm.until("nothing is matched any more", () -> matching(jvm) == 0);
            switch (how) {
                case "corrected" -> assertTrue(Scrape.metrics(port).contains("\nafter "));
                case "corrected and moved" -> assertTrue(Scrape.metrics(next).contains("\nafter "));
                default -> UnloadTest.assertLeavesNothing(jvm);
            }
            for (Socket client : clients) {
                client.close();
            }
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    private static long matching(Jvm jvm) throws Exception {
        long threads = 0;
        for (String thread : jvm.jcmd("Thread.print").split("\n\n")) {
            threads += thread.contains("java.util.regex.") ? 1 : 0;
        }
        return threads;
    }
}
