package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Trimmed Java runtimes: what the agent needs is these modules, and one that is missing is named. */
class ModulesTest {

    private static final List<String> NEEDED = List.of("java.base", "java.instrument", "java.management");

    private final int port = Jvm.freePort();

    @TempDir
    Path directory;

    @Test
    void runsOnWhatItNeeds() throws Exception {
        try (Jvm jvm = Jvm.start(runtime(NEEDED))) {
            Map<String, String> mark = jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
            assertEquals("running", mark.get("state"), mark.toString());
            assertTrue(Scrape.metrics(port).contains("jvm_threads_current"));
            jvm.jcmd("GC.run");
            Scrape.metrics(port);
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    @Test
    @Tag("full")
    void namesWhatIsMissing() throws Exception {
        try (Jvm jvm = Jvm.start(runtime(List.of("java.base", "java.instrument", "java.logging")))) {
            assertMissing("java.management", jvm);
        }
    }

    /** A modular application may leave modules aside that its runtime has. */
    @Test
    void namesWhatIsNotResolved() throws Exception {
        try (Jvm jvm = Jvm.start("--limit-modules", "java.base,java.instrument,java.logging")) {
            assertMissing("java.management", jvm);
        }
    }

    private void assertMissing(String module, Jvm jvm) throws Exception {
        Map<String, String> mark = jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
        assertEquals("failed", mark.get("state"));
        assertEquals("MissingModule", mark.get("reason"));
        assertTrue(mark.get("message").contains("the module " + module + " "), mark.get("message"));
        assertEquals(0, jvm.end());
        assertEquals(List.of(), jvm.err());
    }

    /** Made by another process: what this one still writes cannot be run while a test beside it starts a JVM, which inherits the file. */
    private Path runtime(List<String> modules) throws Exception {
        Path home = directory.resolve("runtime");
        String jlink = Path.of(System.getProperty("java.home"), "bin/jlink").toString();
        Process process = new ProcessBuilder(jlink, "--add-modules", String.join(",", modules), "--output", home.toString()).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), said);
        return home;
    }
}
