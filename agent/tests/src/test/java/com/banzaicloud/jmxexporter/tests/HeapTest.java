package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A collection takes no heap that the application may need. */
class HeapTest {

    private final int port = Jvm.freePort();

    /** What most applications in containers are started with ends them at the first allocation that fails, whoever's it is. */
    @Test
    @Tag("jvm")
    void tooLarge() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dbeans=20000", Subject.class.getName(), WideBeans.class.getName())) {
            assertEquals("running", load(jvm).get("state"));
            assertEquals("CollectionTooLarge", jvm.markWith(mark -> mark.containsKey("reason")).get("reason"));
            for (int i = 0; i < 3; i++) {
                HttpResponse<byte[]> response = Scrape.get(port, "/metrics");
                assertEquals(503, response.statusCode());
                assertTrue(new String(response.body()).matches("The collection was stopped: of the heap's \\d+ MiB, .*\n"), new String(response.body()));
            }
            assertEquals("out of memory: 0", jvm.ask("starved"));

            Path smaller = jvm.file("smaller.yaml", "includeObjectNames: ['java.lang:*']\n");
            jvm.desire(Desired.running(port, smaller));
            Jvm.until("what fits is served", () -> Scrape.get(port, "/metrics").statusCode() == 200);
            assertNull(jvm.desire(Desired.running(port, smaller)).get("reason"));
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** What was served before a configuration that is too large stays, as before one that is rejected. */
    @Test
    void tooLargeAfterOneThatFits() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dbeans=16000", "-Didle=true", Subject.class.getName(), WideBeans.class.getName())) {
            Path fits = jvm.file("smaller.yaml", "includeObjectNames: ['java.lang:*']\n");
            Path large = jvm.file("config.yaml", "{}\n");
            assertNull(jvm.load(Desired.running(port, fits)).get("reason"));
            int otherPort = Jvm.freePort();
            int failures = 0;
            for (Desired desired : List.of(Desired.running(port, large), Desired.running(otherPort, large))) {
                Map<String, String> mark = jvm.desire(desired);
                assertEquals("running CollectionTooLarge " + Desired.sha256(fits) + " " + port,
                        mark.get("state") + " " + mark.get("reason") + " " + mark.get("config.sha256") + " " + mark.get("port"));
                assertEquals("0 " + ++failures, mark.get("reloads") + " " + mark.get("reload.failures"));
                String metrics = Scrape.metrics(port);
                assertTrue(metrics.contains("\njmx_scrape_error 0.0\n") && !metrics.contains("sample_Wide"), metrics);
                assertTrue(Scrape.refused(otherPort), "somebody serves the other port");
            }
            assertNull(jvm.desire(Desired.running(port, fits)).get("reason"));
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** Others divide the heap as they like, so that an answer is too large at one time and not at another. */
    @ParameterizedTest
    @CsvSource({"Parallel, 64, 26000", "G1, 64, 30000", "G1, 40, 14000"})
    @Tag("jvm")
    void applicationLivesWithOtherCollectors(String collector, int heap, int beans) throws Exception {
        assertLives("-Xmx" + heap + "m", "-XX:-UseSerialGC", "-XX:+Use" + collector + "GC", "-XX:+ExitOnOutOfMemoryError", "-Dbeans=" + beans);
    }

    /** Whether there is just too little heap, or just enough. */
    @ParameterizedTest
    @ValueSource(ints = {48, 80, 96, 112, 128})
    @Tag("full")
    void applicationLives(int heap) throws Exception {
        assertLives("-Xmx" + heap + "m", "-XX:+ExitOnOutOfMemoryError");
    }

    private void assertLives(String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(options));
        command.addAll(List.of(Subject.class.getName(), WideBeans.class.getName()));
        try (Jvm jvm = Jvm.run(command.toArray(new String[0]))) {
            assertEquals("running", load(jvm).get("state"));
            for (int i = 0; i < 3; i++) {
                int status = Scrape.get(port, "/metrics").statusCode();
                assertTrue(status == 200 || status == 503, "status " + status);
            }
            assertEquals("out of memory: 0", jvm.ask("starved"));
            assertEquals(0, jvm.end());
        }
    }

    /** What is collected takes little of the heap: 100 000 series, and the MBeans themselves, which take 7 MiB. */
    @Test
    void largeEnough() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx160m", "-Didle=true", Subject.class.getName(), WideBeans.class.getName())) {
            Map<String, String> mark = load(jvm);
            assertNull(mark.get("reason"), mark.toString());
            for (int i = 0; i < 5; i++) {
                assertEquals(10_000, Scrape.metrics(port).lines().filter(line -> line.startsWith("sample_Wide_Hits{")).count());
            }
            assertEquals(0, jvm.end());
        }
    }

    /** A heap full of garbage is what healthy applications have. */
    @Test
    void fullOfGarbage() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx128m", "-Xmn24m", "-XX:+UseSerialGC", Subject.class.getName())) {
            jvm.tell("litter");
            Map<String, String> mark = load(jvm);
            assertNull(mark.get("reason"), mark.toString());
            for (int i = 0; i < 5; i++) {
                Scrape.metrics(port);
                jvm.tell("litter");
            }
            assertEquals(0, jvm.end());
        }
    }

    /** Answers that nobody holds any more are not what fills the heap of an application that does nothing. */
    @Test
    @Tag("full")
    void idleApplication() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx32m", "-XX:+UseSerialGC", Subject.class.getName())) {
            load(jvm);
            for (int i = 0; i < 300; i++) {
                Scrape.metrics(port);
            }
            assertEquals(0, jvm.end());
        }
    }

    /** Where nothing is ever collected, what is served ends before the application does. */
    @Test
    void neverCollected() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:-UseSerialGC", "-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-XX:+ExitOnOutOfMemoryError", Subject.class.getName())) {
            load(jvm);
            Jvm.until("no more is collected", () -> Scrape.get(port, "/metrics").statusCode() == 503);
            for (int i = 0; i < 20; i++) {
                assertEquals(503, Scrape.get(port, "/metrics").statusCode());
            }
            assertEquals("CollectionTooLarge", jvm.markWith(mark -> mark.containsKey("reason")).get("reason"));
            assertEquals(0, jvm.end());
        }
    }

    private Map<String, String> load(Jvm jvm) throws Exception {
        return jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n")));
    }
}
