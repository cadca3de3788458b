package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a configuration may put on the application's heap, and what of it has no effect. */
@Tag("jvm")
class ConfigurationTest {

    private final int port = Jvm.freePort();

    /** 49 mappings of 24 000 keys each, where the parser itself allows 50 aliases. */
    @ParameterizedTest
    @ValueSource(strings = {"extra", "rules"})
    void mergesThatMultiply(String key) throws Exception {
        String keys = IntStream.range(0, 24_000).mapToObj(i -> "k" + i).collect(Collectors.joining(",", "{", "}"));
        String merges = IntStream.range(0, 49).mapToObj(i -> "{<<: *a}").collect(Collectors.joining(","));
        assertTooLarge("x: &a " + keys + "\n" + key + ": [" + merges + "]\n");
    }

    /** A long text is one object however often it is named, but each pattern is compiled for itself. */
    @Test
    void textThatIsRepeated() throws Exception {
        String rules = IntStream.range(0, 4000).mapToObj(i -> ",{pattern: *a}").collect(Collectors.joining());
        assertTooLarge("rules: [{pattern: &a '" + "a".repeat(100_000) + "'}" + rules + "]\n");
    }

    /** The collector quotes the rule or the pattern that it does not accept, which would stay in the system properties. */
    @ParameterizedTest
    @ValueSource(strings = {"{pattern: '(%s'}", "{help: '%s'}"})
    void messageIsShort(String rule) throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", "rules: [" + String.format(rule, "x".repeat(200_000)) + "]\n");
            Map<String, String> mark = jvm.load(Desired.running(port, config));
            assertEquals("ConfigRejected", mark.get("reason"), "the reason");
            assertTrue(mark.get("message").length() <= 1024, mark.get("message").length() + " characters");
            assertEquals(0, jvm.end());
        }
    }

    private void assertTooLarge(String yaml) throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", Subject.class.getName())) {
            Map<String, String> mark = jvm.load(Desired.running(port, jvm.file("config.yaml", yaml)));
            assertEquals("failed", mark.get("state"));
            assertEquals("ConfigRejected", mark.get("reason"), mark.get("message"));
            assertTrue(mark.get("message").contains("with aliases expanded"), mark.get("message"));
            assertEquals(0, jvm.end());
        }
    }

    @Test
    void unknownKeysAreNotKept() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            String unknown = IntStream.range(0, 8000).mapToObj(i -> "k" + i + ": " + i + "\n").collect(Collectors.joining());
            Path config = jvm.file("config.yaml", unknown + "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount', name: after}]\n");
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            assertTrue(Scrape.metrics(port).contains("\nafter "));
            long kept = jvm.jcmd("GC.class_histogram").lines().filter(line -> line.contains("java.util.LinkedHashMap$Entry"))
                    .mapToLong(line -> Long.parseLong(line.trim().split("\\s+")[1])).sum();
            assertTrue(kept < 8000, kept + " entries of mappings are on the heap");
            assertEquals(0, jvm.end());
        }
    }

    /** As files of the standalone exporter are, which often runs beside the application. */
    @ParameterizedTest
    @ValueSource(strings = {
        "hostPort: localhost:5555\nusername: \npassword: \n",
        "hostPort: 127.0.0.1:7199\nssl: false\n",
        "jmxUrl: service:jmx:rmi:///jndi/rmi://[::1]:9010/jmxrmi\nssl: {enabled: true}\nusername: ${UNDEFINED_VARIABLE}\n",
        "openTelemetry: {endpoint: 'http://example.com'}\n",
        "foo: !!binary '%'\n? {hostPort: db:1}\n: 2\n",
        "rules: 7\n",
    })
    void keysWithoutEffect(String ignored) throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", ignored + "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount', name: after}]\n");
            Map<String, String> mark = jvm.load(Desired.running(port, config));
            assertEquals("running", mark.get("state"), mark.get("message"));
            assertNull(mark.get("reason"), mark.get("message"));
            assertTrue(Scrape.metrics(port).contains("\nafter "));
            assertEquals(0, jvm.end());
        }
    }

    /** Files keep what their rules have in common below a key of their own. */
    @Test
    void anchorsBelowUnknownKeys() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path config = jvm.file("config.yaml", "x-base: &base {labels: {team: a}, type: GAUGE}\nx-derived: &derived {<<: *base, help: Threads.}\nrules:\n"
                    + "- {<<: *derived, pattern: 'java.lang<type=Threading><>ThreadCount', name: one}\n"
                    + "- {<<: *derived, pattern: 'java.lang<type=Threading><>DaemonThreadCount', name: other}\n");
            assertEquals("running", jvm.load(Desired.running(port, config)).get("state"));
            String metrics = Scrape.metrics(port);
            for (String name : new String[] {"one", "other"}) {
                assertTrue(metrics.contains("# HELP " + name + " Threads.\n") && metrics.contains("\n" + name + "{team=\"a\"} "), metrics);
            }
            assertEquals(0, jvm.end());
        }
    }
}
