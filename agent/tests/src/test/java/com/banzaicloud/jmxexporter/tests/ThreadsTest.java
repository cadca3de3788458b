package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The application's user may have no further thread: what the agent needs for a scrape, it has. */
@Tag("root-attaches")
class ThreadsTest {

    private final int port = Jvm.freePort();

    @TempDir
    Path directory;

    /** One connection after another, as a scraper makes them that closes each. */
    @Test
    void scrapesNeedNone() throws Exception {
        try (Jvm jvm = loaded()) {
            exhaust(jvm);
            List<String> out = jvm.out();
            for (int i = 0; i < 10; i++) {
                String answer = request("close");
                assertTrue(answer.startsWith("HTTP/1.1 200 ") && answer.contains("\njmx_scrape_error 0.0\n"), answer);
            }
            assertEquals(out, jvm.out());
            assertEquals(List.of(), jvm.err());
            assertEquals(0, jvm.end());
        }
    }

    /** A second scraper gets its answers, too, and the JVM says once at most that there was no thread. */
    @Test
    void twoScrapers() throws Exception {
        try (Jvm jvm = loaded(); Socket idle = new Socket("127.0.0.1", port)) {
            idle.getOutputStream().write("GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            assertEquals('H', idle.getInputStream().read());
            exhaust(jvm);
            int lines = jvm.out().size();
            for (int i = 0; i < 10; i++) {
                String answer = request("close");
                assertTrue(answer.startsWith("HTTP/1.1 200 "), "answer " + i + ": " + answer + jvm.out());
            }
            List<String> said = jvm.out().subList(lines, jvm.out().size());
            assertTrue(said.size() <= 3, said.toString());
            assertEquals(0, jvm.end());
        }
    }

    /** Four threads wait, and two more are there for a scrape: no connection or collection made them. */
    @Test
    void keepsOneOfEachKind() throws Exception {
        try (Jvm jvm = loaded()) {
            for (int i = 0; i < 3; i++) {
                request("close");
                Jvm.until("the connection's thread waits again", () -> names(jvm).equals(List.of("agent", "collector", "http", "http-1", "http-watch")));
            }
            assertEquals(0, jvm.end());
        }
    }

    private static List<String> names(Jvm jvm) throws Exception {
        return jvm.threads("jmx-exporter-.*").stream().map(line -> line.replaceAll("^\"jmx-exporter-([^\"]*)\".*", "$1")).sorted().toList();
    }

    private Jvm loaded() throws Exception {
        permit(directory);
        Jvm jvm = Jvm.startAs(Users.LIMITED, directory, "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading");
        Path own = permit(Files.createDirectory(directory.resolve("own")));
        Files.copy(Jvm.AGENT, own.resolve("agent.jar"));
        Files.copy(Jvm.EXPORTER, own.resolve("exporter.jar"));
        Desired desired = Desired.running(port, Files.writeString(own.resolve("config.yaml"), "{}\n")).implementation(own.resolve("exporter.jar"));
        desired.write(own.resolve("desired"));
        jvm.loadAgent(own.resolve("agent.jar"), own.resolve("desired").toString());
        Map<String, String> mark = jvm.answer(desired);
        assertEquals("running", mark.get("state"), mark.toString());
        return jvm;
    }

    /** From now on the user may have no thread more than there are. */
    private void exhaust(Jvm jvm) throws Exception {
        Users.LIMITED.run(directory, "prlimit --pid $1 --nproc=1:1", String.valueOf(jvm.process.pid()));
        assertEquals("threads: 0", jvm.ask("start-threads 1"), "the limit holds");
    }

    private String request(String connection) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: " + connection + "\r\n\r\n").getBytes());
            return new String(socket.getInputStream().readAllBytes());
        }
    }

    private static Path permit(Path path) throws IOException {
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
}
