package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command line of an application holds its passwords: no rule shows them to scrapers. */
class SecretsTest {

    private static final String ATTRIBUTES = "[SystemProperties, ClassPath, BootClassPath, LibraryPath, InputArguments, Name]";

    private final int port = Jvm.freePort();

    @ParameterizedTest
    @ValueSource(strings = {
        "{}",
        "rules: [{pattern: '.*'}]",
        "rules: [{pattern: '(?s)(.*)', name: all, value: 1, labels: {all: '$1'}}]",
        "rules: [{pattern: 'java.lang<type=Runtime(.*)><(.*)>(.*): (.*)', name: runtime, value: 1, labels: {a: '$1', b: '$2', c: '$3', d: '$4'}}]",
        "rules: [{pattern: 'java.lang<type=Runtime, key=(.*)><SystemProperties>(.*): (.*)', name: runtime_$1, value: 1, help: '$3', labels: {c: '$3'}}]",
        "{autoExcludeObjectNameAttributes: false, includeObjectNames: ['java.lang:type=Runtime'], includeObjectNameAttributes: {'java.lang:type=Runtime': " + ATTRIBUTES + "},"
                + " rules: [{pattern: '(?s)(.*)', name: all, value: 1, labels: {all: '$1'}}]}",
        "{excludeObjectNameAttributes: {'java.lang:type=Runtime': [Uptime]}, rules: [{pattern: '(?s)(.*)', name: all, value: 1, labels: {all: '$1'}}]}",
        "metricCustomizers: [{mbeanFilter: {domain: java.lang, properties: {type: Runtime}}, attributesAsLabels: " + ATTRIBUTES + "}]",
        "{metricCustomizers: [{mbeanFilter: {domain: java.lang, properties: {type: Runtime}}, attributesAsLabels: " + ATTRIBUTES + ", extraMetrics: [{name: x, value: 1}]}],"
                + " includeObjectNameAttributes: {'java.lang:type=Runtime': " + ATTRIBUTES + "}}",
    })
    void noRuleReadsThem(String rules) throws Exception {
        try (Jvm jvm = Jvm.run("-Dapplication.password=hunter2", "-Djava.library.path=/opt/hunter2", Subject.class.getName())) {
            Path config = jvm.file("config.yaml", rules + "\n");
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            String metrics = Scrape.metrics(port);
            assertTrue(metrics.contains("\njmx_scrape_error 0.0\n"), metrics);
            for (String secret : new String[] {"hunter2", "subjects.jar", "application.password"}) {
                assertFalse(metrics.contains(secret), () -> metrics.lines().filter(line -> line.contains(secret)).findFirst().orElse(""));
            }
            assertEquals(0, jvm.end());
        }
    }

    /** What is excluded by the configuration as well stays excluded. */
    @Test
    void ownExclusionsStay() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(Desired.running(port, jvm.file("config.yaml", "excludeObjectNameAttributes: {'java.lang:type=Runtime': [Uptime], 'java.lang:type=Threading': [ThreadCount]}\n")));
            String metrics = Scrape.metrics(port);
            assertFalse(metrics.contains("java_lang_Runtime_Uptime"), metrics);
            assertFalse(metrics.contains("java_lang_Threading_ThreadCount"), metrics);
            assertTrue(metrics.contains("java_lang_Runtime_StartTime"), metrics);
            assertEquals(0, jvm.end());
        }
    }
}
