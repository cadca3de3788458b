package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A first start that cannot be: a typed reason, a sentence that names the value, a live application, recovery. */
@Tag("jvm")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RefusalTest {

    private final int port = Jvm.freePort();
    private Jvm jvm;
    private Path good;

    @BeforeAll
    void start() throws Exception {
        jvm = Jvm.start();
        good = jvm.file("good.yaml", "rules: []\n");
        assertEquals("failed", jvm.load(Desired.running(port, good).with("port", "0")).get("state"));
    }

    /** One JVM lives through all of them, and serves in the end. */
    @AfterAll
    void recovers() throws Exception {
        assertEquals("running", jvm.desire(Desired.running(port, good)).get("state"));
        Scrape.metrics(port);
        assertEquals(0, jvm.end());
        assertEquals(List.of(), jvm.err());
        jvm.close();
    }

    @Test
    void portInUse() throws Exception {
        int busy = Jvm.freePort();
        jvm.tell("listen " + busy);
        assertRefused(Desired.running(busy, good), "PortInUse", "port " + busy);
        jvm.tell("close");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "hostPort: db:1234                                            | hostPort",
        "jmxUrl: service:jmx:rmi:///jndi/rmi://db:1234/jmxrmi         | jmxUrl",
        "jmxUrl: service:jmx:rmi://db/jndi/rmi://localhost:1/jmxrmi   | jmxUrl",
        "httpServer: {authentication: {basic: {username: a}}}         | spec.endpointSecurity",
        "'rules: [unclosed'                                           | line 1, column 17",
        "rules: [&a {<<: *a}]                                         | does not end before it",
        "just a sentence                                              | keys and values",
        "'- a list'                                                   | keys and values",
        "rules: 7                                                     | Integer cannot be cast to List.",
        "rules: [{pattern: '('}]                                      | Unclosed group",
        "rules: [{name: without_a_pattern}]                           | Must provide pattern",
        "lowercaseOutputName: perhaps                                 | String cannot be cast to Boolean.",
        "includeObjectNames: ['no object name']                       | Key properties cannot be empty",
        "!!javax.script.ScriptEngineManager {}                        | ScriptEngineManager",
    })
    void configuration(String yaml, String named) throws Exception {
        assertRefused(Desired.running(port, jvm.file("bad.yaml", yaml)), "ConfigRejected", named);
    }

    @Test
    void configurationMissing() throws Exception {
        Desired desired = Desired.running(port, good).with("config", "/does/not/exist.yaml");
        assertRefused(desired, "ConfigRejected", "/does/not/exist.yaml");
    }

    @Test
    void configurationOfAnotherDigest() throws Exception {
        assertRefused(Desired.running(port, good).with("config.sha256", "0".repeat(64)), "ConfigRejected", Desired.sha256(good));
    }

    @Test
    void noConfiguration() throws Exception {
        assertRefused(Desired.running(port, good).with("config", null), "ConfigRejected", "config");
    }

    @ParameterizedTest
    @CsvSource(value = {"port,65536", "port,-1", "port,http", "port,NULL", "host,no.such.host.invalid", "host,192.0.2.1", "host,not a host"}, nullValues = "NULL")
    void address(String key, String value) throws Exception {
        assertRefused(Desired.running(port, good).with(key, value), "AgentFailed", String.valueOf(value));
    }

    @ParameterizedTest
    @CsvSource({"protocol,2", "state,dancing", "implementation,/does/not/exist.jar"})
    void desired(String key, String value) throws Exception {
        assertRefused(Desired.running(port, good).with(key, value), "AgentFailed", value);
    }

    @ParameterizedTest
    @CsvSource({"protocol", "state", "implementation", "implementation.sha256"})
    void desiredLacks(String key) throws Exception {
        assertRefused(Desired.running(port, good).with(key, null), "AgentFailed", key);
    }

    @Test
    void implementationOfAnotherDigest() throws Exception {
        Desired desired = Desired.running(port, good).with("implementation.sha256", "0".repeat(64));
        assertRefused(desired, "AgentFailed", Desired.sha256(Jvm.EXPORTER));
    }

    @Test
    void implementationWithoutItsClass() throws Exception {
        assertRefused(Desired.running(port, good).implementation(Jvm.AGENT), "AgentFailed", "com.banzaicloud.jmxexporter.exporter.Exporter");
    }

    @Test
    void implementationThatIsNoJar() throws Exception {
        assertRefused(Desired.running(port, good).implementation(good), "AgentFailed", good + " cannot be loaded: The file is no jar");
    }

    private void assertRefused(Desired desired, String reason, String named) throws Exception {
        Map<String, String> mark = jvm.load(desired); // Another load has the agent look at once.
        assertEquals("failed", mark.get("state"));
        assertEquals(reason, mark.get("reason"), mark.get("message"));
        assertTrue(mark.get("message").contains(named), mark.get("message"));
        assertFalse(mark.containsKey("port"), mark.toString());
    }
}
