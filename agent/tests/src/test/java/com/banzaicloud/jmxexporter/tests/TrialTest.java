package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A configuration is tried before it counts as served; what costs too much only later is reported when it does. */
class TrialTest {

    private static final String GOOD = "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount', name: before}]\n";

    private final int port = Jvm.freePort();

    /** As on a machine that has a tenth of a processor for it: the answer comes later, and is the same. */
    @Test
    @Tag("full")
    void starvedMachineChangesNoVerdict() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            assertEquals("running", jvm.load(Desired.running(port, jvm.file("good.yaml", GOOD))).get("state"));
            StringBuilder rules = new StringBuilder("rules:\n");
            for (int i = 0; i < 4; i++) {
                rules.append("- {pattern: '").append(RulesTest.EXPENSIVE).append(i).append("', name: never}\n");
            }
            Path expensive = jvm.file("expensive.yaml", rules.toString());
            Process starving = starve(jvm);
            try {
                Map<String, String> mark = jvm.desire(Desired.running(port, expensive));
                assertEquals("RuleTooExpensive", mark.get("reason"), mark.toString());
                assertTrue(mark.get("message").contains(" and 3 more "), mark.get("message"));
            } finally {
                starving.destroyForcibly().waitFor();
                new ProcessBuilder("kill", "-CONT", pid(jvm)).start().waitFor();
            }
            assertEquals(0, jvm.end());
        }
    }

    /** Lets it run for a tenth of the time. */
    private static Process starve(Jvm jvm) throws Exception {
        String loop = "while kill -STOP $0 && sleep 0.09 && kill -CONT $0 && sleep 0.01; do :; done";
        return new ProcessBuilder("sh", "-c", loop, pid(jvm)).redirectErrorStream(true).start();
    }

    private static String pid(Jvm jvm) {
        return String.valueOf(jvm.process.pid());
    }

    @Test
    void ruleThatBecomesExpensiveLaterIsNamed() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), SampleBeans.class.getName())) {
            String rules = "rules:\n- {pattern: 'sample<type=Long><>Text: x.*.*.*.*.*.*.*.*.*.*y', name: never}\n";
            Path config = jvm.file("config.yaml", rules + GOOD.replace("rules: [", "- ").replace("]", ""));
            assertFalse(jvm.load(Desired.running(port, config)).containsKey("reason"));
            jvm.tell("set long " + "x".repeat(1000));
            assertTrue(Scrape.metrics(port).contains("\nbefore "));
            Map<String, String> mark = jvm.markWith(m -> m.containsKey("reason"));
            assertEquals("RuleTooExpensive", mark.get("reason"));
            assertTrue(mark.get("message").startsWith("Rule 1 (sample<type=Long>"), mark.get("message"));
            assertEquals("running", mark.get("state"));
            assertEquals(0, jvm.end());
        }
    }
}
