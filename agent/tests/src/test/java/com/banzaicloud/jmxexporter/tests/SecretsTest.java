package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command line of an application holds its passwords: no rule shows them to scrapers. */
@Tag("jvm")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SecretsTest {

    private static final String ATTRIBUTES = "[SystemProperties, ClassPath, BootClassPath, LibraryPath, InputArguments, Name]";

    private final int port = Jvm.freePort();
    private Jvm jvm;

    /** One JVM lives through all of them. */
    @BeforeAll
    void start() throws Exception {
        jvm = Jvm.run("-Dapplication.password=hunter2", "-Djava.library.path=/opt/hunter2", Subject.class.getName());
    }

    @AfterAll
    void close() throws Exception {
        assertEquals(0, jvm.end());
        jvm.close();
    }

    /** Another load has the agent look at once. */
    private String metrics(String configuration) throws Exception {
        Path config = jvm.file("config.yaml", configuration + "\n");
        Map<String, String> mark = jvm.load(Desired.running(port, config));
        assertEquals("running", mark.get("state"));
        assertEquals(Desired.sha256(config), mark.get("config.sha256"));
        return Scrape.metrics(port);
    }

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
        String metrics = metrics(rules);
        assertTrue(metrics.contains("\njmx_scrape_error 0.0\n"), metrics);
        for (String secret : new String[] {"hunter2", "subjects.jar", "application.password"}) {
            assertFalse(metrics.contains(secret), () -> metrics.lines().filter(line -> line.contains(secret)).findFirst().orElse(""));
        }
    }

    /** What is excluded by the configuration as well stays excluded. */
    @Test
    void ownExclusionsStay() throws Exception {
        String metrics = metrics("excludeObjectNameAttributes: {'java.lang:type=Runtime': [Uptime], 'java.lang:type=Threading': [ThreadCount]}");
        assertFalse(metrics.contains("java_lang_Runtime_Uptime"), metrics);
        assertFalse(metrics.contains("java_lang_Threading_ThreadCount"), metrics);
        assertTrue(metrics.contains("java_lang_Runtime_StartTime"), metrics);
    }
}
