package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Implementations of tomorrow under the trampoline of today, which stays in a JVM whatever comes. */
class ReplaceTest {

    private final int port = Jvm.freePort();
    private Jvm jvm;
    private Path config;

    @BeforeEach
    void start() throws Exception {
        jvm = Jvm.start();
        config = jvm.file("config.yaml", "rules: []\n");
        jvm.load(Desired.running(port, config));
    }

    @AfterEach
    void close() throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of(), jvm.err());
        jvm.close();
    }

    @Test
    void newerTakesOver() throws Exception {
        Path newer = implementation("answer.put(\"state\", desired.get(\"state\"));"
                + "answer.put(\"agent\", \"99\"); answer.put(\"colour\", desired.get(\"colour\")); answer.put(\"nothing\", null);");
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(newer).with("colour", "blue & green"));
        assertEquals("running", mark.get("state"));
        assertEquals("99", mark.get("agent"));
        assertEquals("blue & green", mark.get("colour"));
        assertEquals(Desired.sha256(newer), mark.get("implementation.sha256"));
        assertTrue(Scrape.refused(port), "the old one has stopped");
        assertFalse(jvm.openFiles().contains(Jvm.EXPORTER.toString()));

        assertEquals("1.0.0", jvm.desire(Desired.running(port, config)).get("agent"));
        Scrape.metrics(port);
    }

    /** What runs goes on, or runs again, when what shall replace it does not. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "throw new IllegalStateException(\"broken & new\");        | AgentFailed   | broken & new",
        "throw new StackOverflowError(\"deep\");                   | AgentFailed   | deep",
        "throw new OutOfMemoryError(\"Java heap space\");          | AgentFailed   | Java heap space",
        "throw new NoClassDefFoundError(\"java/beans/Introspector\"); | MissingModule | java.desktop",
        "throw new NoClassDefFoundError(\"sun/misc/Unsafe\");      | MissingModule | jdk.unsupported",
        "throw new NoClassDefFoundError(\"javax/management/MBeanServer\"); | MissingModule | java.management",
        "throw new NoClassDefFoundError(\"com/example/Lost\");     | AgentFailed   | com/example/Lost",
        "answer.put(\"state\", \"failed\"); answer.put(\"reason\", \"PortInUse\"); answer.put(\"message\", \"taken\"); | PortInUse | taken",
        "answer.put(\"state\", \"failed\");                        | NULL          | NULL",
    }, nullValues = "NULL")
    void brokenOneDoesNotTakeOver(String body, String reason, String named) throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(implementation(body)));
        assertEquals("running", mark.get("state"));
        assertEquals(reason, mark.get("reason"));
        assertTrue(named == null || mark.get("message").contains(named), mark.get("message"));
        assertEquals(Desired.sha256(Jvm.EXPORTER), mark.get("implementation.sha256"));
        assertEquals("1.0.0", mark.get("agent"));
        Scrape.metrics(port);
    }

    /** The old one's configuration may have been pruned: what is desired names another one. */
    @Test
    void brokenOneDoesNotTakeOverWhenTheOldFileIsGone() throws Exception {
        String served = Desired.sha256(config);
        Path other = jvm.file("other.yaml", "rules: [{pattern: 'java.lang.*'}]\n");
        Path broken = implementation("throw new IllegalStateException(\"broken\");");
        Files.delete(config);
        for (int again = 0; again < 2; again++) {
            Map<String, String> mark = jvm.desire(Desired.running(port, other).implementation(broken));
            assertEquals("running", mark.get("state"), mark.toString());
            assertEquals("AgentFailed", mark.get("reason"));
            assertEquals(served, mark.get("config.sha256"));
            assertEquals("1.0.0", mark.get("agent"));
            Scrape.metrics(port);
        }
        assertEquals(Desired.sha256(other), jvm.desire(Desired.running(port, other)).get("config.sha256"));
    }

    @Test
    void missingOneDoesNotTakeOver() throws Exception {
        Map<String, String> mark = jvm.desire(Desired.running(port, config).with("implementation", "/gone.jar").with("implementation.sha256", "0"));
        assertEquals("running", mark.get("state"));
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains("/gone.jar"), mark.get("message"));
        assertEquals(String.valueOf(port), mark.get("port"));
        Scrape.metrics(port);
    }

    /** One that throws later is not taken for gone: nobody knows what it still holds. */
    @Test
    void throwsWhenReconfigured() throws Exception {
        Path moody = implementation("if (desired.containsKey(\"throw\")) throw new IllegalStateException(\"moody\");"
                + "answer.put(\"state\", desired.get(\"state\")); answer.put(\"agent\", \"99\");");
        jvm.desire(Desired.running(port, config).implementation(moody));
        Map<String, String> mark = jvm.desire(Desired.running(port, config).implementation(moody).with("throw", "1"));
        assertEquals("running", mark.get("state"));
        assertEquals("99", mark.get("agent"));
        assertTrue(mark.get("message").contains("moody"), mark.get("message"));

        mark = jvm.desire(Desired.running(port, config).implementation(moody));
        assertFalse(mark.containsKey("reason"), mark.toString());
        jvm.desire(Desired.stopped());
    }

    /** A jar with an exporter whose apply has this body, compiled for it. */
    private Path implementation(String body) throws IOException {
        String source = "package com.banzaicloud.jmxexporter.exporter; import java.util.*; import java.util.function.Function;"
                + "public class Exporter implements Function<Map<String, String>, Map<String, String>> {"
                + "  public Map<String, String> apply(Map<String, String> desired) {"
                + "    Map<String, String> answer = new HashMap<>();" + body
                + (body.startsWith("throw") ? "" : "return answer;") + "}}";
        Path directory = Files.createDirectories(jvm.desiredFile().resolveSibling("implementation"));
        Path java = Files.writeString(directory.resolve("Exporter.java"), source);
        int result = ToolProvider.getSystemJavaCompiler().run(null, null, null, "--release", "8", "-Xlint:-options", "-d", directory.toString(), java.toString());
        assertEquals(0, result, source);
        Path jar = directory.resolve("exporter.jar");
        String name = "com/banzaicloud/jmxexporter/exporter/Exporter.class";
        try (OutputStream file = Files.newOutputStream(jar); JarOutputStream out = new JarOutputStream(file)) {
            out.putNextEntry(new JarEntry(name));
            Files.copy(directory.resolve(name), out);
        }
        return jar;
    }
}
