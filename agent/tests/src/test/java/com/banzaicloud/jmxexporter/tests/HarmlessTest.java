package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The application does not notice the agent, and the agent does not mind the application. */
class HarmlessTest {

    private final int port = Jvm.freePort();

    @Test
    void applicationExitsWhenItIsDone() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    @Test
    void applicationReplacesItsProperties() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Map<String, String> mark = load(jvm);
            jvm.tell("replace-properties");
            assertEquals(mark, jvm.markWith(m -> !m.isEmpty()));
        }
    }

    @Test
    void applicationInterruptsEveryThread() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            load(jvm);
            Scrape.metrics(port);
            jvm.tell("interrupt");
            Scrape.metrics(port);
            assertEquals("running", jvm.desire(Desired.running(port, jvm.file("other.yaml", "rules: []\n"))).get("state"));
            assertEquals(0, jvm.end());
        }
    }

    @Test
    void applicationReplacesItsStreams() throws Exception {
        // JDK 25 prints its warning through System.err; the option says that it need not warn.
        try (Jvm jvm = Jvm.start("-XX:+EnableDynamicAgentLoading")) {
            jvm.tell("break-streams");
            load(jvm);
            Scrape.metrics(port);
            jvm.desire(Desired.running(port, jvm.file("bad.yaml", "rules: [")));
            jvm.desire(Desired.running(0, jvm.file("other.yaml", "rules: []\n")));
            jvm.desire(Desired.stopped());
            assertEquals(0, jvm.end());
        }
    }

    /** The stock exporter's libraries log to where the application logs, and change the format of its log. */
    @Test
    void logOfTheApplicationIsItsOwn() throws Exception {
        try (Jvm outer = Jvm.start()) {
            Path logging = outer.file("logging.properties", "handlers=java.util.logging.ConsoleHandler\n"
                    + "java.util.logging.ConsoleHandler.level=ALL\n.level=CONFIG\n"
                    + "java.util.logging.SimpleFormatter.format=%4$s: %5$s%n\n");
            try (Jvm jvm = Jvm.run("-Djava.util.logging.config.file=" + logging, Subject.class.getName(), SampleBeans.class.getName())) {
                load(jvm);
                Scrape.metrics(port);
                Scrape.request("HEAD", port, "/metrics");
                Scrape.request("HEAD", port, "/-/healthy");
                jvm.desire(Desired.running(port, jvm.file("bad.yaml", "rules: [{pattern: '('}]\n")));
                jvm.desire(Desired.running(port, jvm.file("duplicate.yaml", "rules: []\nrules: []\n")));
                jvm.tell("log");
                jvm.desire(Desired.stopped());
                assertEquals(0, jvm.end());
                assertEquals(List.of("ready", "ok"), jvm.out());
                assertEquals(List.of("INFO: about the application"), jvm.err());
            }
        }
    }

    /** Settings for client libraries of the application are not ours, not even wrong ones. */
    @Test
    void settingsOfTheApplicationAreItsOwn() throws Exception {
        try (Jvm jvm = Jvm.start("-Dio.prometheus.exporter.unknown=1", "-Djmx.prometheus.exporter.developer.debug=true")) {
            assertEquals("running", load(jvm).get("state"));
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertUntouched(jvm);
        }
    }

    @Test
    void applicationHasLittleMemory() throws Exception {
        try (Jvm jvm = Jvm.start("-Xmx4m", "-XX:+UseSerialGC")) {
            load(jvm);
            assertEquals(0, jvm.end());
            assertEquals(List.of("ready"), jvm.out());
        }
    }

    @Test
    @Tag("security-manager")
    void applicationHasASecurityManager() throws Exception {
        try (Jvm outer = Jvm.start()) {
            Path policy = outer.file("policy", "grant { permission java.io.FilePermission \"<<ALL FILES>>\", \"read\"; };\n");
            try (Jvm jvm = Jvm.start("-Djava.security.manager", "-Djava.security.policy==" + policy)) {
                Desired.running(port, jvm.file("config.yaml", "{}\n")).write(jvm.desiredFile());
                jvm.loadAgent(Jvm.AGENT, jvm.desiredFile().toString());
                Thread.sleep(1200); // It may not even write its mark, so there is nothing to wait for.
                assertEquals(0, jvm.end());
                assertEquals(List.of("ready"), jvm.out());
            }
        }
    }

    private Map<String, String> load(Jvm jvm) throws Exception {
        return jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
    }

    private static void assertUntouched(Jvm jvm) throws Exception {
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
    }
}
