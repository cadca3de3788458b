package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What cannot be served is left out, named and counted; everything else is served. */
class SkippedTest {

    private static final String OPEN_METRICS = "application/openmetrics-text;version=1.0.0";

    private final int port = Jvm.freePort();

    @ParameterizedTest
    @Tag("jvm")
    @CsvSource(delimiter = '|', value = {
        "info | MBeanUnreadable |",
        "attributes | MBeanUnreadable |",
        "undeclared | UndeclaredAttribute |",
        "number | InvalidSample |",
        "labels | InvalidSample |",
        "labels | InvalidSample | {pattern: 'labels<.*>Value', name: 'value_$7'}",
        "labels | InvalidSample | {pattern: 'labels<.*>Value', name: value, labels: {'a-b': x, a_b: y}}",
        "counter | InvalidValue | {pattern: 'counter<type=Counter><>Value', name: failures_total, type: COUNTER}",
        "counter | ReservedName | {pattern: 'counter<type=Counter><>Value', name: jvm_memory_committed_bytes, labels: {area: mine}}",
        "counter | ReservedName | {pattern: 'counter<type=Counter><>Value', name: jvm_memory_committed_bytes, type: GAUGE, labels: {area: mine}}",
        "counter | ReservedName | {pattern: 'counter<type=Counter><>Value', name: jmx_scrape_error, type: GAUGE}",
        "counter | ReservedName | {pattern: 'counter<type=Counter><>Value', name: jvm_gc_collection_seconds_count, type: GAUGE}",
    })
    void onlyWhatIsBrokenIsLeftOut(String domain, String reason, String rule) throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            Path config = jvm.file("config.yaml", "includeObjectNames: ['" + domain + ":*', 'healthy:*']\n" + (rule == null ? "" : "rules:\n- " + rule + "\n- pattern: .*\n"));
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));

            assertSkipped(Map.of(domain + " " + reason, "1.0"));
            Map<String, String> mark = jvm.markWith(m -> m.containsKey("skipped"));
            assertEquals(List.of("1", domain, reason), List.of(mark.get("skipped"), mark.get("skipped.domain"), mark.get("skipped.reason")));
            assertFalse(mark.containsKey("reason"), mark.toString());

            jvm.desire(Desired.running(port, jvm.file("healthy.yaml", "includeObjectNames: ['healthy:*']\n")));
            assertSkipped(Map.of());
            jvm.markWith(m -> !m.containsKey("skipped") && !m.containsKey("skipped.domain") && !m.containsKey("skipped.reason"));
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** The sample of an MBean whose label has no text does not cost those that are read after it. */
    @Test
    void labelWithoutText() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['silent:*', 'healthy:*']\n"
                    + "metricCustomizers:\n- {mbeanFilter: {domain: silent}, attributesAsLabels: [Value]}\n")));
            String metrics = Scrape.metrics(port);
            assertTrue(metrics.contains("\nsilent_Silent_Value{Value=\"null\"} 1.0\n") && metrics.contains("\njmx_scrape_error 0.0\n"), metrics);
            assertEquals(0, jvm.end());
        }
    }

    /** The operator reads at /-/healthy what the mark says, without a collection. */
    @Test
    @Tag("jvm")
    void healthSaysWhatTheMarkSays() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['info:*', 'healthy:*']\n")));
            awaitNotices("skipped=1&skipped.reason=MBeanUnreadable&skipped.domain=info");
            assertEquals("", new String(Scrape.request("HEAD", port, "/-/healthy").body()));
            jvm.tell("mend");
            assertEquals("skipped=1&skipped.reason=MBeanUnreadable&skipped.domain=info", notices());
            Scrape.metrics(port);
            assertEquals("", notices());
            jvm.desire(Desired.running(port, jvm.file("expensive.yaml", "rules:\n- {pattern: '" + RulesTest.EXPENSIVE + "', name: never}\n")));
            awaitNotices("reason=RuleTooExpensive");
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** On a busy machine, the load answers before its collection has ended. */
    private void awaitNotices(String expected) throws Exception {
        Jvm.until("health says " + expected, () -> notices().equals(expected));
    }

    private String notices() throws Exception {
        HttpResponse<byte[]> response = Scrape.get(port, "/-/healthy");
        assertEquals(200, response.statusCode());
        return response.headers().firstValue("Jmx-Exporter-Notices").orElse("none");
    }

    /** Each of its attributes would be out of memory as well. */
    @Test
    void outOfMemoryEndsTheCollection() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['memory:*', 'healthy:*']\n")));
            HttpResponse<byte[]> response = Scrape.get(port, "/metrics");
            assertEquals("500 The scrape failed: java.lang.OutOfMemoryError: in a test\n", response.statusCode() + " " + new String(response.body()));
            assertEquals("asked: 0", jvm.ask("asked"));
            assertEquals(0, jvm.end());
        }
    }

    /** As with the stock exporter, both are served, and the metric has no type. */
    @Test
    void twoRulesThatGiveOneNameTwoTypes() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['healthy:*']\nrules:\n"
                    + "- {pattern: 'healthy<type=Healthy, name=1><>Value', name: things, type: COUNTER, labels: {name: one}}\n"
                    + "- {pattern: 'healthy<type=Healthy, name=2><>Value', name: things, type: GAUGE, labels: {name: two}}\n")));
            String metrics = Scrape.metrics(port);
            assertTrue(metrics.contains("\n# TYPE things untyped\nthings{name=\"one\"} 1.0\nthings{name=\"two\"} 2.0\n"), metrics);
            assertTrue(metrics.contains("\njmx_scrape_error 0.0\n"), metrics);
            assertEquals(0, jvm.end());
        }
    }

    /** What is mended shows at the next scrape; the mark follows it, and is not written while nothing changes. */
    @Test
    void nothingIsSkippedOnceTheApplicationIsMended() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['info:*', 'undeclared:*', 'number:*', 'healthy:*']\n")));
            assertSkipped(Map.of("info MBeanUnreadable", "1.0", "undeclared UndeclaredAttribute", "1.0", "number InvalidSample", "1.0"));
            Map<String, String> mark = jvm.markWith(m -> "3".equals(m.get("skipped")));
            assertEquals("info", mark.get("skipped.domain"));
            jvm.tell("mend");
            Scrape.metrics(port);
            jvm.markWith(m -> !m.containsKey("skipped"));
            assertTrue(Scrape.metrics(port).contains("\njmx_scrape_error 0.0\n"));
            assertEquals(0, jvm.end());
        }
    }

    /** An application chooses its domains: they make no more series than fifty, and one for the rest. */
    @Test
    void manyDomains() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['domain*:*', 'healthy:*']\n"
                    + "rules:\n- {pattern: 'domain(\\d+)<type=Counter><>Value', name: failures_total, type: COUNTER, labels: {domain: $1}}\n- pattern: .*\n")));
            Map<String, String> skipped = skipped(Scrape.metrics(port));
            assertEquals(51, skipped.size(), skipped.toString());
            assertEquals("10.0", skipped.get("other other"));
            jvm.markWith(m -> "60".equals(m.get("skipped")) && "other".equals(m.get("skipped.domain")));
            assertEquals(0, jvm.end());
        }
    }

    /** As the stock exporter: the beans of the JVM that an include names are served, whatever is excluded with the JVM's metrics. */
    @Test
    void beansOfTheJvmThatAreIncludedByName() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "excludeJvmMetrics: true\nincludeObjectNames: ['java.lang:type=Threading']\n")));
            String metrics = Scrape.metrics(port);
            assertTrue(metrics.contains("\njava_lang_Threading_ThreadCount "), metrics);
            assertFalse(metrics.contains("java_lang_Memory_"), metrics);
            assertFalse(metrics.contains("\njvm_"), metrics);
            assertEquals(0, jvm.end());
        }
    }

    /** Asserts that the healthy are served whole in both formats, and that so many of these were left out, by domain and reason. */
    private void assertSkipped(Map<String, String> expected) throws Exception {
        for (String accept : List.of("text/plain", OPEN_METRICS)) {
            HttpResponse<byte[]> response = Scrape.get(port, "/metrics", "Accept", accept);
            String metrics = new String(response.body());
            assertEquals(200, response.statusCode(), metrics);
            assertEquals(50, metrics.lines().filter(line -> line.startsWith("healthy_Healthy_Value{")).count(), metrics);
            assertEquals(new TreeMap<>(expected), skipped(metrics));
            assertTrue(metrics.contains("\njmx_scrape_error " + (expected.isEmpty() ? "0.0\n" : "1.0\n")), metrics);
            assertTrue(metrics.contains("\njvm_memory_committed_bytes{area=\"heap\"} "), metrics);
        }
    }

    private static Map<String, String> skipped(String metrics) {
        Map<String, String> skipped = new TreeMap<>();
        metrics.lines().filter(line -> line.startsWith("jmx_exporter_skipped{")).forEach(line -> {
            String[] words = line.split("\"");
            skipped.put(words[1] + " " + words[3], line.substring(line.lastIndexOf(' ') + 1));
        });
        return skipped;
    }
}
