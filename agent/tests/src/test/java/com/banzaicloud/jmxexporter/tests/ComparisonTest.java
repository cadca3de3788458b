package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The same rules give the same metrics as the stock exporter, in both text formats: names, types, help, labels, and
 * the values of what does not change by itself. Both exporters live in one JVM, so they see the same.
 */
class ComparisonTest {

    /** Every difference that there is, with its reason. A new one fails, and so does one that has gone. */
    private static final Map<String, String> DIFFERENCES = Map.of(
            "stock: jmx_exporter_build_info{name=\"jmx_prometheus_javaagent\",version=\"1.0.1\"} 1",
            "names the version of the stock exporter",
            "ours:  jmx_exporter_build_info{name=\"jmx_prometheus_javaagent\",version=\"1.7.0\"} 1",
            "names the version of the collector that the agent carries");

    /** Those that come only with rules that say cache: true. */
    private static final Map<String, String> DIFFERENCES_OF_CACHED_RULES = Map.of(
            "stock: jmx_scrape_cached_beans 28.0",
            "counted an attribute once for every cached rule that was tried on it",
            "ours:  jmx_scrape_cached_beans 20.0",
            "since collector 1.1 an attribute is cached once, with the rule that matches it");

    /** Samples whose values differ from one scrape to the next. */
    private static final String RESTLESS = "(java_|jdk_|com_sun_|jvm_|process_|jmx_scrape_duration_seconds).*";

    private static final String TEXT = "text/plain";
    private static final String OPEN_METRICS = "application/openmetrics-text;version=1.0.0";

    private final int stock = Jvm.freePort();
    private final int ours = Jvm.freePort();
    private Jvm jvm;

    @TempDir
    Path directory;

    @ParameterizedTest
    @Tag("full")
    @ValueSource(strings = {"defaults.yaml", "selection.yaml"})
    void sameMetrics(String rules) throws Exception {
        load(configuration(rules), Subject.class.getName(), SampleBeans.class.getName());
        assertSame(TEXT, DIFFERENCES);
        assertSame(OPEN_METRICS, DIFFERENCES);
    }

    @Test
    void sameMetricsOfEveryKindOfRule() throws Exception {
        load(configuration("rules.yaml"), Subject.class.getName(), SampleBeans.class.getName());
        Map<String, String> differences = new HashMap<>(DIFFERENCES);
        differences.putAll(DIFFERENCES_OF_CACHED_RULES);
        assertSame(TEXT, differences);
        assertSame(OPEN_METRICS, differences);
    }

    /** The last stock agent that is served is older than the collector in ours, so this compares with the collector itself. */
    @ParameterizedTest
    @Tag("full")
    @ValueSource(strings = {"defaults.yaml", "selection.yaml", "rules.yaml", "customizers.yaml"})
    void sameMetricsAsTheUnchangedCollector(String rules) throws Exception {
        Path config = configuration(rules);
        List<Path> jars;
        try (Stream<Path> files = Files.list(Jvm.EXPORTER.resolveSibling("collector"))) {
            jars = files.toList();
        }
        jvm = Jvm.run("-XX:+UseSerialGC", "-Xmn256m", "-cp", Jvm.classPath(jars.toArray(new Path[0])), "-Dstock.port=" + stock, "-Dstock.config=" + config,
                "-Dio.prometheus.metrics.exemplarsEnabled=false", Subject.class.getName(), SampleBeans.class.getName(), StockCollector.class.getName());
        serve(config);
        Map<String, String> known = Map.of(
                "stock: jmx_exporter_build_info{name=\"unknown\",version=\"unknown\"} 1", "is not in the jar of a stock exporter",
                "ours:  jmx_exporter_build_info{name=\"jmx_prometheus_javaagent\",version=\"1.7.0\"} 1", "is");
        assertSame(TEXT, known);
        assertSame(OPEN_METRICS, known);
    }

    @Test
    @Tag("full")
    void sameMetricsOfTheDemo() throws Exception {
        load(Path.of(System.getProperty("dummyapp.config")), "-Ddummy.requests=42", "DummyApp");
        assertSame(TEXT, DIFFERENCES);
        assertSame(OPEN_METRICS, DIFFERENCES);
    }

    /** A rule that gives a metric the name of one of the JVM's own breaks the scrape of the stock exporter; here it costs itself. */
    @Test
    @Tag("full")
    void collidingNames() throws Exception {
        load(configuration("collision.yaml"), Subject.class.getName());
        assertEquals(500, Scrape.get(stock, "/metrics").statusCode());
        String body = Scrape.metrics(ours);
        assertTrue(body.contains("\njmx_exporter_skipped{domain=\"java.lang\",reason=\"ReservedName\"} 1.0\n"), body);
        assertTrue(body.contains("\njvm_threads_current "), body);
    }

    /** A rule that fails while it is used ends the collection of the stock exporter; here it costs its samples. Both say so in a metric. */
    @Test
    @Tag("full")
    void sameErrorOfARuleThatFails() throws Exception {
        load(configuration("group.yaml"), Subject.class.getName());
        assertEquals(List.of("jmx_scrape_error 1.0"), errors(stock));
        assertEquals(List.of("jmx_scrape_error 1.0"), errors(ours));
        assertTrue(Scrape.metrics(ours).contains("\njmx_exporter_skipped{domain=\"java.lang\",reason=\"InvalidSample\"} 1.0\n"));
    }

    private static List<String> errors(int port) throws Exception {
        HttpResponse<byte[]> response = Scrape.get(port, "/metrics");
        return new String(response.body(), StandardCharsets.UTF_8).lines().filter(line -> line.startsWith("jmx_scrape_error")).toList();
    }

    private void load(Path config, String... application) throws Exception {
        String[] arguments = new String[application.length + 3];
        // One young collection more or less would add metrics between the scrapes.
        arguments[0] = "-XX:+UseSerialGC";
        arguments[1] = "-Xmn256m";
        arguments[2] = "-javaagent:" + Jvm.STOCK + "=" + stock + ":" + config;
        System.arraycopy(application, 0, arguments, 3, application.length);
        jvm = Jvm.run(arguments);
        serve(config);
    }

    /** Loads the agent, and has both exporters serve everything that they will. */
    private void serve(Path config) throws Exception {
        jvm.load(Desired.running(ours, config));
        jvm.jcmd("GC.run"); // Some metrics begin with the first collection.
        Scrape.get(stock, "/metrics"); // And some with the first scrape.
        Scrape.get(ours, "/metrics");
    }

    @AfterEach
    void close() throws Exception {
        jvm.close();
    }

    private void assertSame(String accept, Map<String, String> known) throws Exception {
        Set<String> expected = metrics(stock, accept);
        Set<String> actual = metrics(ours, accept);
        Set<String> differences = new TreeSet<>();
        expected.stream().filter(line -> !actual.contains(line)).forEach(line -> differences.add("stock: " + line));
        actual.stream().filter(line -> !expected.contains(line)).forEach(line -> differences.add("ours:  " + line));
        assertEquals(String.join("\n", new TreeSet<>(known.keySet())), String.join("\n", differences), accept);
    }

    /** The lines of a scrape, without the values that are not comparable. */
    private static Set<String> metrics(int port, String accept) throws Exception {
        HttpResponse<byte[]> response = Scrape.get(port, "/metrics", "Accept", accept);
        String body = new String(response.body(), StandardCharsets.UTF_8);
        assertEquals(200, response.statusCode(), body);
        return body.lines()
                .filter(line -> !line.matches("(# (HELP|TYPE|UNIT) )?jmx_exporter_collection_.*")) // Which the stock exporter does not have.
                .map(line -> line.matches(RESTLESS) ? line.substring(0, line.lastIndexOf(' ')) : line)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private Path configuration(String name) throws Exception {
        try (InputStream in = ComparisonTest.class.getResourceAsStream("/comparison/" + name)) {
            Path file = directory.resolve(name);
            Files.copy(in, file);
            return file;
        }
    }
}
