package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A JVM of user 1000 obeys root and its own user, whatever user 2000 does in the {@code /tmp} that they share. These
 * tests become other users, so they take root.
 */
@Tag("root-attaches")
class TrustTest {

    private final int port = Jvm.freePort();
    private Path tmp;
    private Path own;
    private Path foreign;
    private Jvm jvm;

    @BeforeEach
    void share() throws Exception {
        Path top = Files.createTempDirectory("jmx-exporter-shared");
        permit(top, "rwxr-xr-x");
        tmp = Files.createDirectory(top.resolve("tmp"));
        permit(tmp, "rwxrwxrwx");
        own = Files.createDirectory(tmp.resolve(".jmx-exporter"));
        permit(own, "rwxr-xr-x");
        foreign = Files.createDirectory(top.resolve("foreign"));
        permit(foreign, "rwxrwxrwx");
        Files.copy(Jvm.AGENT, own.resolve("agent.jar"));
        Files.copy(Jvm.EXPORTER, own.resolve("exporter.jar"));
        Files.writeString(own.resolve("config.yaml"), "{}\n");
        Implementations.compile(foreign, "answer.put(\"state\", \"running\"); answer.put(\"agent\", \"foreign\");",
                "public Map<String, String> get() { return null; }");
        jvm = Jvm.runAs(Users.JVM, top, Subject.class.getName());
    }

    @AfterEach
    void close() throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of(), jvm.err());
        jvm.close();
        try (var files = Files.walk(tmp.getParent())) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Test
    @Tag("jvm")
    void directoryRenamedAwayAndPlanted() throws Exception {
        load();
        foreignDesired().write(foreign.resolve("desired"));
        Users.FOREIGN.run(tmp, "mv .jmx-exporter away; mkdir .jmx-exporter");
        plant();
        assertRefused("user 2000");
        Users.FOREIGN.run(tmp, "mv .jmx-exporter planted; mv away .jmx-exporter");
        assertObeys();
    }

    /** In a sticky directory nobody renames what is root's; a cleaner of root's removes it. */
    @Test
    @Tag("full")
    void directoryCleanedUpAndPlanted() throws Exception {
        Runtime.getRuntime().exec(new String[] {"chmod", "1777", tmp.toString()}).waitFor();
        load();
        foreignDesired().write(foreign.resolve("desired"));
        Path kept = tmp.resolveSibling("kept");
        Files.move(own, kept);
        Users.FOREIGN.run(tmp, "mkdir .jmx-exporter");
        plant();
        assertRefused("user 2000");
        Files.move(own, tmp.resolveSibling("planted"));
        Files.move(kept, own);
        assertObeys();
    }

    /** What leads to files of root's that somebody else has chosen is not followed. */
    @ParameterizedTest
    @ValueSource(strings = {"ln -s \"$1\" .jmx-exporter", "mkdir .jmx-exporter; ln -s \"$1/desired\" .jmx-exporter/desired"})
    void linkPlanted(String script) throws Exception {
        load();
        Path chosen = Files.createDirectory(tmp.resolveSibling("chosen"));
        permit(chosen, "rwxr-xr-x");
        foreignDesired().write(chosen.resolve("desired"));
        Users.FOREIGN.run(tmp, "mv .jmx-exporter away; " + script, chosen.toString());
        assertRefused("remove it");
        Users.FOREIGN.run(tmp, "mv .jmx-exporter planted; mv away .jmx-exporter");
        assertObeys();
    }

    @ParameterizedTest
    @ValueSource(strings = {"desired", "."})
    void writableByOthers(String name) throws Exception {
        load();
        foreignDesired().write(own.resolve("desired.next"));
        permit(own.resolve("desired.next"), name.equals(".") ? "rw-r--r--" : "rw-r--rw-");
        permit(own, name.equals(".") ? "rwxrwxr-x" : "rwxr-xr-x");
        Files.move(own.resolve("desired.next"), own.resolve("desired"), StandardCopyOption.ATOMIC_MOVE);
        assertRefused("written by others");
        permit(own, "rwxr-xr-x");
        assertObeys();
    }

    /** The jar that a desired file of root's names is checked no less. */
    @Test
    void implementationOfAForeignUser() throws Exception {
        load();
        Desired desired = foreignDesired();
        Path jar = foreign.resolve("exporter.jar");
        Users.FOREIGN.run(foreign, "cp exporter.jar mine.jar");
        desired.implementation(foreign.resolve("mine.jar")).write(own.resolve("desired"));
        Map<String, String> mark = jvm.answer(desired);
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains(jar.getParent().toString()), mark.get("message"));
        assertEquals("1.0.0", mark.get("agent"));
        assertObeys();
    }

    /** Nor is a configuration that somebody else has put there, and least of all one that never ends. */
    @Test
    void configurationOfAForeignUser() throws Exception {
        load();
        Path fifo = foreign.resolve("config.yaml");
        Users.FOREIGN.run(foreign, "mkfifo config.yaml");
        Desired desired = desired().with("config", fifo.toString());
        desired.write(own.resolve("desired"));
        Map<String, String> mark = jvm.answer(desired);
        assertEquals("ConfigRejected", mark.get("reason"));
        assertEquals("running", mark.get("state"));
        assertObeys();
    }

    /** Classes come from the bytes that were hashed, also those that are needed later. */
    @Test
    void jarReplacedAfterItWasLoaded() throws Exception {
        load();
        Files.write(own.resolve("exporter.jar"), new byte[100_000]);
        Scrape.get(port, "/metrics", "Accept-Encoding", "gzip", "Accept", "application/openmetrics-text");
        assertTrue(Scrape.metrics(port).contains("jvm_threads_current"));
        Files.copy(Jvm.EXPORTER, own.resolve("exporter.jar"), StandardCopyOption.REPLACE_EXISTING);
    }

    private void load() throws Exception {
        Desired desired = desired();
        desired.write(own.resolve("desired"));
        jvm.loadAgent(own.resolve("agent.jar"), own.resolve("desired").toString());
        assertEquals("running", jvm.answer(desired).get("state"));
    }

    private Desired desired() {
        return Desired.running(port, own.resolve("config.yaml")).implementation(own.resolve("exporter.jar"));
    }

    private Desired foreignDesired() {
        return desired().implementation(foreign.resolve("exporter.jar"));
    }

    /** User 2000 writes a desired file, with a jar of its own, into the directory that it made. */
    private void plant() throws Exception {
        Users.FOREIGN.run(tmp, "cat \"$1/desired\" >.jmx-exporter/desired; cp \"$1/exporter.jar\" .jmx-exporter/", foreign.toString());
    }

    /** The agent says what it does not obey, and runs what it ran. */
    private void assertRefused(String named) throws Exception {
        Map<String, String> mark = jvm.markWith(m -> m.containsKey("reason") || "foreign".equals(m.get("agent")));
        assertEquals("1.0.0", mark.get("agent"), "foreign code runs: " + mark);
        assertEquals("running", mark.get("state"));
        assertEquals("AgentFailed", mark.get("reason"));
        assertTrue(mark.get("message").contains(named), mark.get("message"));
        Scrape.metrics(port);
    }

    private void assertObeys() throws Exception {
        Desired desired = desired();
        desired.write(own.resolve("desired"));
        Map<String, String> mark = jvm.answer(desired);
        assertEquals("running", mark.get("state"));
        assertFalse(mark.containsKey("reason"), mark.toString());
        Scrape.metrics(port);
    }

    private static void permit(Path path, String permissions) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }
}
