package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The agent says what its collections cost. */
class CostTest {

    private static final String RULES = "jmx_exporter_collection_rule_cpu_seconds";

    private final int port = Jvm.freePort();

    @Test
    @Tag("jvm")
    void ofOneCollection() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            Map<String, String> mark = jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['healthy:*', 'info:*']\n"
                    + "rules:\n- {pattern: 'none<>Value'}\n- {name: all, pattern: 'healthy<type=(.*), name=(.*)><>Value', labels: {name: $2}}\n"
                    + "- {pattern: 'counter<type=Counter><>Value', name: jmx_exporter_collection_series}\n")));
            assertNull(mark.get("reason"), mark.toString());
            Map<String, Double> cost = cost(Scrape.metrics(port));
            assertEquals(50, cost.get("series"));
            assertEquals(51, cost.get("mbeans"));
            assertTrue(cost.get("cpu_seconds") > 0, cost.toString());
            assertTrue(cost.get("duration_seconds") >= cost.get("cpu_seconds") / 2, cost.toString());
            assertTrue(cost.get("allocated_bytes") > 50 * 100, cost.toString());
            assertFalse(Scrape.metrics(port).contains(RULES));

            String rules = Scrape.metrics(port, "/metrics?name[]=" + RULES);
            assertEquals(3, rules.lines().filter(line -> line.startsWith(RULES + "{rule=\"")).count(), rules);
            assertTrue(rules.contains(RULES + "{rule=\"1\"} 0.0\n"), "a rule whose text is nowhere costs nothing\n" + rules);
            assertFalse(rules.contains(RULES + "{rule=\"2\"} 0.0\n"), rules);

            mark = jvm.markWith(m -> m.containsKey("collection.series"));
            assertEquals("50", mark.get("collection.series"));
            assertEquals("51", mark.get("collection.mbeans"));
            assertTrue(Long.parseLong(mark.get("collection.bytes")) > 0, mark.toString());
            assertTrue(mark.containsKey("collection.millis") && mark.containsKey("collection.cpu.millis"), mark.toString());
            assertEquals(0, jvm.end());
        }
    }

    /** Without the module that knows it, nothing is said of allocations. */
    @Test
    void withoutManagementOfTheJdk() throws Exception {
        try (Jvm jvm = Jvm.start("--limit-modules=java.instrument,java.management")) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['java.lang:type=Threading']\n")));
            Map<String, Double> cost = cost(Scrape.metrics(port));
            assertFalse(cost.containsKey("allocated_bytes"), cost.toString());
            assertEquals(1, cost.get("mbeans"));
            assertFalse(jvm.markWith(m -> m.containsKey("collection.series")).containsKey("collection.bytes"));
            assertEquals(0, jvm.end());
        }
    }

    @Test
    void names() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['healthy:*']\n"
                    + "rules:\n- {pattern: 'healthy<type=Healthy, name=1><>Value', name: jmx_exporter_collection_series}\n")));
            assertEquals(0, cost(Scrape.metrics(port)).get("series"));
            assertEquals("ReservedName", jvm.markWith(m -> m.containsKey("skipped")).get("skipped.reason"));
            assertEquals(0, jvm.end());
        }
    }

    /** Half of the little heap is soon allocated. What yields nothing is left out by the patterns. */
    @Test
    @Tag("jvm")
    void expensive() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx80m", Subject.class.getName(), ManyBeans.class.getName())) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "rules:\n- {pattern: 'sample<type=Counted><>Collections'}\n"
                    + "- {pattern: 'sample<type=Topic, (.*)topic-(.*)X', name: never}\n")));
            Jvm.until("it is expensive", () -> {
                Scrape.metrics(port);
                return jvm.mark().containsKey("expensive.include");
            });
            Map<String, String> mark = jvm.mark();
            assertTrue(List.of("CPU", "Duration", "Allocation").contains(mark.get("expensive")), mark.toString());
            assertEquals("2", mark.get("expensive.rule"));
            assertEquals("sample:type=Counted,*", mark.get("expensive.include"));
            assertEquals("1", mark.get("collection.series"));

            jvm.desire(Desired.running(port, jvm.file("less.yaml", "includeObjectNames: ['" + mark.get("expensive.include") + "']\n")));
            Scrape.metrics(port);
            assertNull(jvm.markWith(m -> "1".equals(m.get("collection.mbeans"))).get("expensive"));
            assertEquals(0, jvm.end());
        }
    }

    /** By the name of the figure. */
    private static Map<String, Double> cost(String metrics) {
        Map<String, Double> cost = new TreeMap<>();
        String prefix = "jmx_exporter_collection_";
        metrics.lines().filter(line -> line.startsWith(prefix)).forEach(line -> {
            String[] words = line.split(" ");
            cost.put(words[0].substring(prefix.length()), Double.valueOf(words[1]));
        });
        return cost;
    }
}
