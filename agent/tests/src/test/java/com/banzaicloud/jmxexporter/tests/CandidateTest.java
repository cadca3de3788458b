package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A candidate is judged as a configuration that is desired, and what is served stays as it is. */
class CandidateTest {

    private static final String SERVED = "excludeJvmMetrics: true\nincludeObjectNames: ['java.lang:type=Runtime']\nrules: [{pattern: 'java.lang<type=Runtime><>SpecVersion: (.*)', name: served, value: 1}]\n";

    private final int port = Jvm.freePort();

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{}|",
        "startDelaySeconds: 3600|",
        "startDelaySeconds: soon|ConfigRejected",
        "rules: [{pattern: '('}]|ConfigRejected",
        "rules: [|ConfigRejected",
        "hostPort: db:1|ConfigRejected",
        "rules: [{pattern: '" + RulesTest.EXPENSIVE + "', name: never}, {pattern: '.*'}]|RuleTooExpensive",
    })
    void judgedAndNotServed(String text, String reason) throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path served = jvm.file("served.yaml", SERVED);
            Map<String, String> before = jvm.load(Desired.running(port, served));
            String metrics = steady();

            Path candidate = jvm.file("candidate.yaml", text + "\n");
            Map<String, String> mark = judged(jvm, served, candidate);
            assertEquals(reason, mark.get("candidate.reason"), mark.toString());
            assertEquals(reason == null, mark.get("candidate.message") == null, mark.toString());
            assertEquals(mark.get("token"), mark.get("candidate.token"));
            if (!"ConfigRejected".equals(reason)) {
                assertEquals(Desired.sha256(candidate), mark.get("candidate.sha256"));
                assertTrue(Integer.parseInt(mark.get("candidate.collection.series")) > 50, mark.toString());
                assertTrue(Integer.parseInt(mark.get("candidate.collection.mbeans")) > 10, mark.toString());
            }
            for (String key : List.of("state", "port", "config.sha256", "reloads", "reload.failures", "implementation.sha256", "loads")) {
                assertEquals(before.get(key), mark.get(key), key);
            }
            assertFalse(mark.containsKey("reason"), mark.toString());
            assertEquals(metrics, steady());

            mark = jvm.desire(Desired.running(port, served));
            assertTrue(mark.keySet().stream().noneMatch(key -> key.startsWith("candidate")), mark.toString());
            assertEquals(metrics, steady());
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    @Test
    void tooLargeForTheHeap() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dbeans=16000", "-Didle=true", Subject.class.getName(), WideBeans.class.getName())) {
            Path served = jvm.file("served.yaml", SERVED);
            jvm.load(Desired.running(port, served));
            String metrics = steady();
            Map<String, String> mark = judged(jvm, served, jvm.file("candidate.yaml", "{}\n"));
            assertEquals("CollectionTooLarge", mark.get("candidate.reason"), mark.toString());
            assertNull(mark.get("reason"));
            assertEquals(metrics, steady());
            assertNull(judged(jvm, served, served).get("candidate.reason"));
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** A file of another content, or of another user's, is not judged. */
    @Test
    void anotherFile() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path served = jvm.file("served.yaml", SERVED);
            jvm.load(Desired.running(port, served));
            Path candidate = jvm.file("candidate.yaml", "{}\n");
            Map<String, String> mark = jvm.desire(asking(served, candidate).with("candidate.sha256", Desired.sha256(served)));
            assertEquals("ConfigRejected null", mark.get("candidate.reason") + " " + mark.get("candidate.sha256"));
            mark = jvm.desire(asking(served, candidate).with("candidate", candidate + ".none"));
            assertEquals("ConfigRejected null", mark.get("candidate.reason") + " " + mark.get("candidate.sha256"));
            assertEquals(0, jvm.end());
        }
    }

    /** The trampoline returns to what it served before when another implementation does not start; it judges nothing again. */
    @Test
    void judgedOnce() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), ManyBeans.class.getName())) {
            Path served = jvm.file("served.yaml", SERVED);
            Path broken = Implementations.compile(jvm, "throw new IllegalStateException();", "public Map<String, String> get() { return null; }");
            jvm.load(Desired.running(port, served));
            jvm.desire(asking(served, jvm.file("candidate.yaml", "includeObjectNames: ['sample:type=Counted']\n")));
            String collections = jvm.ask("collections");
            assertEquals("collections: 1", collections);
            Map<String, String> mark = jvm.desire(Desired.running(port, served).implementation(broken));
            assertEquals("running AgentFailed", mark.get("state") + " " + mark.get("reason"));
            assertEquals(collections, jvm.ask("collections"));
            assertEquals(0, jvm.end());
        }
    }

    /** One that knows no candidates does as if there were none. */
    @Test
    void olderImplementation() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Path served = jvm.file("served.yaml", SERVED);
            Path older = Implementations.compile(jvm, "answer.put(\"state\", \"running\"); answer.put(\"port\", desired.get(\"port\"));", "public Map<String, String> get() { return null; }");
            jvm.load(Desired.running(port, served).implementation(older));
            Map<String, String> mark = jvm.desire(asking(served, served).implementation(older));
            assertEquals("running", mark.get("state"));
            assertFalse(mark.containsKey("candidate.token"));
            assertEquals(0, jvm.end());
        }
    }

    /** A trial that hangs in an MBean keeps no scrape from its answer for long, and no second one begins beside it. */
    @Test
    void hangsInsideAnMBean() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), SlowBean.class.getName())) {
            Path served = jvm.file("served.yaml", SERVED);
            Path slow = jvm.file("slow.yaml", "includeObjectNames: ['sample:*']\n");
            jvm.load(Desired.running(port, served));
            String metrics = steady();
            CompletableFuture<Map<String, String>> judging = CompletableFuture.supplyAsync(() -> desire(jvm, asking(served, slow)));
            Jvm.until("the trial is inside", () -> jvm.ask("calls").equals("calls: 1"));
            assertEquals(200, Scrape.get(port, "/-/healthy").statusCode());
            assertEquals(metrics, steady());
            assertEquals("TrialIncomplete", judging.get().get("candidate.reason"), judging.get().toString());

            for (int i = 0; i < 2; i++) {
                Map<String, String> mark = jvm.desire(asking(served, slow));
                assertEquals("TrialIncomplete", mark.get("candidate.reason"), mark.toString());
                assertEquals(metrics, steady());
            }
            assertEquals("calls: 1", jvm.ask("calls"));

            jvm.tell("release");
            Jvm.until("the trial is judged", () -> !jvm.desire(asking(served, slow)).containsKey("candidate.reason"));
            Jvm.until("one thread is left", () -> jvm.threads("jmx-exporter-collector").size() == 1);
            assertEquals("open: true, harmed: 0", jvm.ask("report"));
            assertEquals(0, jvm.end());
        }
    }

    /** A candidate that hangs takes from the rules that are served neither of the two threads that may hang. */
    @Test
    void hangsBesideWhatIsServed() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), SlowBean.class.getName())) {
            Path served = jvm.file("served.yaml", SERVED);
            Path slow = jvm.file("slow.yaml", "includeObjectNames: ['sample:*']\n");
            jvm.load(Desired.running(port, served));
            String metrics = steady();
            assertEquals("TrialIncomplete", jvm.desire(asking(served, slow)).get("candidate.reason"));
            jvm.desire(Desired.running(port, slow));
            assertEquals("calls: 2", jvm.ask("calls"));
            Path another = Implementations.another(jvm);
            assertEquals("running", jvm.desire(Desired.running(port, served).implementation(another)).get("state"));
            assertEquals(metrics.replaceAll("(?m)^jmx_config_reload.*\n", ""), steady().replaceAll("(?m)^jmx_config_reload.*\n", ""));
            assertEquals("TrialIncomplete", jvm.desire(asking(served, slow).implementation(another)).get("candidate.reason"));
            assertEquals("calls: 2", jvm.ask("calls"));

            jvm.tell("release");
            Jvm.until("one thread is left", () -> jvm.threads("jmx-exporter-(collector|candidate)").size() == 1);
            assertEquals(0, jvm.end());
        }
    }

    /** A check writes the desired file twice, and neither time what is too large for the heap is collected again. */
    @Test
    void tooLargeIsNotTriedAgain() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dbeans=16000", "-Didle=true", Subject.class.getName(), WideBeans.class.getName(), SlowBean.class.getName())) {
            jvm.tell("release");
            Path served = jvm.file("served.yaml", "includeObjectNames: ['sample:type=Slow', 'sample:*']\n");
            assertEquals("CollectionTooLarge", jvm.load(Desired.running(port, served)).get("reason"));
            // A collection reads this MBean first, unless so little of the heap is free that it does not begin.
            Jvm.until("a retry collects", () -> {
                jvm.desire(Desired.running(port, served));
                return !jvm.ask("calls").equals("calls: 0");
            });
            String calls = jvm.ask("calls");
            Map<String, String> mark = judged(jvm, served, jvm.file("candidate.yaml", SERVED));
            assertNull(mark.get("candidate.reason"), mark.toString());
            assertEquals("CollectionTooLarge", mark.get("reason"));
            assertEquals("CollectionTooLarge", jvm.desire(Desired.running(port, served)).get("reason"));
            assertEquals(calls, jvm.ask("calls"));

            Jvm.until("a retry collects again", () -> {
                jvm.desire(Desired.running(port, served));
                return !jvm.ask("calls").equals(calls);
            });
            assertEquals(0, jvm.end());
        }
    }

    /** Not while a scrape runs, which may hang. */
    @Test
    void neverBesideAScrape() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), SlowBean.class.getName())) {
            Path served = jvm.file("served.yaml", "includeObjectNames: ['sample:*']\n");
            jvm.load(Desired.running(port, served));
            CompletableFuture<HttpResponse<byte[]>> scrape = CompletableFuture.supplyAsync(() -> scrape());
            Jvm.until("the scrape is inside", () -> jvm.ask("calls").equals("calls: 1"));
            Map<String, String> mark = jvm.desire(asking(served, jvm.file("candidate.yaml", "{}\n")));
            assertEquals("TrialIncomplete", mark.get("candidate.reason"), mark.toString());
            assertEquals("calls: 1", jvm.ask("calls"));
            jvm.tell("release");
            assertEquals(200, scrape.get().statusCode());
            assertNull(judged(jvm, served, jvm.file("candidate.yaml", "{}\n")).get("candidate.reason"));
            assertEquals(0, jvm.end());
        }
    }

    private Desired asking(Path served, Path candidate) {
        return Desired.running(port, served).with("candidate", candidate.toString()).with("candidate.sha256", Desired.sha256(candidate));
    }

    /** The mark with the judgement; on a busy machine, not each trial ends within its time. */
    private Map<String, String> judged(Jvm jvm, Path served, Path candidate) throws Exception {
        AtomicReference<Map<String, String>> mark = new AtomicReference<>();
        Jvm.until("a trial ends", () -> {
            mark.set(jvm.desire(asking(served, candidate)));
            String reason = mark.get().getOrDefault("candidate.reason", "");
            return !reason.equals("TrialIncomplete") && (!reason.equals("RuleTooExpensive") || mark.get().containsKey("candidate.collection.series"));
        });
        return mark.get();
    }

    private static Map<String, String> desire(Jvm jvm, Desired desired) {
        try {
            return jvm.desire(desired);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private HttpResponse<byte[]> scrape() {
        try {
            return Scrape.get(port, "/metrics");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a scrape says, without what each one costs. */
    private String steady() throws Exception {
        return Scrape.metrics(port).replaceAll("(?m)^(jmx_scrape_(cached_beans|duration_seconds)|jmx_exporter_collection_).*\n", "");
    }
}
