package com.banzaicloud.jmxexporter.collection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.config.EscapingScheme;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.CounterSnapshot;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.Labels;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.MetricSnapshot;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.MetricSnapshots;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Samples that were kept as bytes, and written some at a time, make the text that the library makes of all at once. */
class AnswerTest {

    private static final List<ExpositionFormatWriter> WRITERS = List.of(PrometheusTextFormatWriter.create(), OpenMetricsTextFormatWriter.create());
    private static final String[] VALUES = {"", "plain", "a\\b \"c\"\nd", "# EOF\n", "zero \0", "ümlaut ß", "€ 漢字", "\ud83d\ude00", "x".repeat(40_000)};

    private final Gathering gathering = Gathering.begin(Set.of("taken"));
    private final Samples samples = gathering.samples();

    @AfterEach
    void end() {
        Gathering.end();
    }

    @Test
    void anyLabels() throws Exception {
        List<Labels> all = new ArrayList<>(List.of(Labels.EMPTY));
        for (String one : VALUES) {
            all.add(Labels.of("one", one));
            for (String two : VALUES) {
                all.add(Labels.of("one", one, "two", two));
                all.add(Labels.of("one", one, "three", two));
            }
        }
        assertSame(gauges("values", all));
    }

    /** Each has more samples than are objects at a time, or ends where such a batch does. */
    @Test
    void largeMetrics() throws Exception {
        List<MetricSnapshot> expected = new ArrayList<>();
        for (int size : new int[] {1, 511, 512, 513, 1, 1700, 300}) {
            List<Labels> all = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                all.add(Labels.of("number", String.valueOf(i)));
            }
            expected.add(gauges("size_" + expected.size(), all));
        }
        assertSame(expected.toArray(new MetricSnapshot[0]));
    }

    /** What is an object of the library for each client at a time has an end in bytes, too. */
    @Test
    void longLabels() throws Exception {
        add("short", "GAUGE", Labels.EMPTY, 1);
        for (int i = 0; i < 100; i++) {
            add("long", "GAUGE", Labels.of("number", i + "x".repeat(10_000)), i);
        }
        Batches batches = new Batches();
        new Answer(samples.complete(gathering)).write(batches, new ByteArrayOutputStream(), EscapingScheme.UNDERSCORE_ESCAPING, null);
        assertEquals(101, batches.samples);
        assertTrue(batches.longest <= 128 << 10, batches.longest + " characters at a time");
    }

    @Test
    void typesByAgreement() throws Exception {
        add("a_total", "COUNTER", Labels.EMPTY, 1);
        add("b", "COUNTER", Labels.EMPTY, 2);
        add("c", "GAUGE", Labels.of("x", "1"), 3);
        add("c", "COUNTER", Labels.of("x", "2"), 4);
        add("d", "UNTYPED", Labels.EMPTY, Double.NaN);
        add("empty", "GAUGE", Labels.EMPTY, Double.NEGATIVE_INFINITY);
        assertSame(
                CounterSnapshot.builder().name("a").help("help of a_total").dataPoint(counter(1)).build(),
                CounterSnapshot.builder().name("b").help("help of b").dataPoint(counter(2)).build(),
                UnknownSnapshot.builder().name("c").help("help of c").dataPoint(unknown(Labels.of("x", "1"), 3)).dataPoint(unknown(Labels.of("x", "2"), 4)).build(),
                UnknownSnapshot.builder().name("d").help("help of d").dataPoint(unknown(Labels.EMPTY, Double.NaN)).build(),
                GaugeSnapshot.builder().name("empty").help("help of empty").dataPoint(gauge(Labels.EMPTY, Double.NEGATIVE_INFINITY)).build());
    }

    @Test
    void whatCannotBeServed() throws Exception {
        add("counter_total", "COUNTER", Labels.of("x", "1"), -1);
        add("counter_total", "COUNTER", Labels.of("x", "2"), 1);
        samples.add("twice", "help", "GAUGE", Labels.of("x", "1"), 1, "domain<type=A><>Value: 1");
        samples.add("twice", "help", "GAUGE", Labels.of("x", "1"), 2, "domain<type=A><>Value: 2");
        samples.add("twice", "help", "GAUGE", Labels.of("x", "1"), 3, "domain<type=B><>Value: 3");
        samples.add("twice", "help", "GAUGE", Labels.of("_objectname", "1"), 4, "domain<type=C><>Value: 4");
        add("taken", "GAUGE", Labels.EMPTY, 1);
        assertSame(
                CounterSnapshot.builder().name("counter").help("help of counter_total")
                        .dataPoint(CounterSnapshot.CounterDataPointSnapshot.builder().labels(Labels.of("x", "2")).value(1).build()).build(),
                GaugeSnapshot.builder().name("twice").help("help")
                        .dataPoint(gauge(Labels.of("_objectname", "domain<type=A><>Value", "x", "1"), 1))
                        .dataPoint(gauge(Labels.of("_objectname", "domain<type=B><>Value", "x", "1"), 3)).build());
        Map<String, String> mark = new HashMap<>();
        gathering.skipped().mark(mark);
        assertEquals("4", mark.get("skipped"));
    }

    @Test
    void metricsByName() throws Exception {
        add("one", "GAUGE", Labels.EMPTY, 1);
        add("two", "GAUGE", Labels.EMPTY, 2);
        List<Part> parts = samples.complete(gathering);
        parts.add(new Part.Whole(GaugeSnapshot.builder().name("asked").dataPoint(gauge(Labels.EMPTY, 3)).build(), true));
        Answer answer = new Answer(parts);
        assertEquals("# TYPE asked gauge\nasked 3.0\n# HELP two help of two\n# TYPE two gauge\ntwo 2.0\n", text(answer, Set.of("two", "asked", "none")));
        assertTrue(!text(answer, null).contains("asked"));
        assertEquals("", text(answer, Set.of("none")));
    }

    /** However the library cuts what it writes into blocks. */
    @Test
    void blocksOfAnySize() throws Exception {
        String first = "# HELP a # EOF of it\n# TYPE a gauge\na{x=\"# EOF\"} 1.0\n# EOF\n";
        String second = "# HELP a # EOF of it\n# TYPE a gauge\na{x=\"2\"} 1.0\n# TYPE b gauge\nb 1.0\n# EOF\n";
        for (int size = 1; size < 20; size++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Joint joint = new Joint(out);
            write(joint, first, size);
            joint.next(true);
            write(joint, second, size);
            joint.end();
            assertEquals("# HELP a # EOF of it\n# TYPE a gauge\na{x=\"# EOF\"} 1.0\na{x=\"2\"} 1.0\n# TYPE b gauge\nb 1.0\n# EOF\n", out.toString(), "blocks of " + size);
        }
    }

    private static void write(OutputStream out, String text, int size) throws Exception {
        for (int from = 0; from < text.length(); from += size) {
            out.write(text.getBytes(), from, Math.min(size, text.length() - from));
        }
    }

    private static String text(Answer answer, Set<String> names) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        answer.write(WRITERS.get(0), out, EscapingScheme.UNDERSCORE_ESCAPING, names);
        return out.toString();
    }

    private void add(String name, String type, Labels labels, double value) {
        samples.add(name, "help of " + name, type, labels, value, "domain<type=" + name + "><>Value: " + value);
    }

    /** A metric with these labels, which is also collected, in any order. */
    private MetricSnapshot gauges(String name, List<Labels> all) {
        GaugeSnapshot.Builder gauges = GaugeSnapshot.builder().name(name).help("help of " + name);
        List<Labels> shuffled = new ArrayList<>(all);
        Collections.shuffle(shuffled, new Random(7));
        for (Labels labels : shuffled) {
            gauges.dataPoint(gauge(labels, labels.hashCode()));
            add(name, "GAUGE", labels, labels.hashCode());
        }
        return gauges.build();
    }

    private static GaugeSnapshot.GaugeDataPointSnapshot gauge(Labels labels, double value) {
        return GaugeSnapshot.GaugeDataPointSnapshot.builder().labels(labels).value(value).build();
    }

    private static CounterSnapshot.CounterDataPointSnapshot counter(double value) {
        return CounterSnapshot.CounterDataPointSnapshot.builder().value(value).build();
    }

    private static UnknownSnapshot.UnknownDataPointSnapshot unknown(Labels labels, double value) {
        return UnknownSnapshot.UnknownDataPointSnapshot.builder().labels(labels).value(value).build();
    }

    private void assertSame(MetricSnapshot... expected) throws Exception {
        Answer answer = new Answer(samples.complete(gathering));
        for (ExpositionFormatWriter writer : WRITERS) {
            ByteArrayOutputStream whole = new ByteArrayOutputStream();
            writer.write(whole, new MetricSnapshots(expected), EscapingScheme.UNDERSCORE_ESCAPING);
            for (int client = 0; client < 2; client++) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                answer.write(writer, out, EscapingScheme.UNDERSCORE_ESCAPING, null);
                assertEquals(whole.toString(), out.toString());
            }
        }
    }

    /** Sees what is written at a time. */
    private static final class Batches implements ExpositionFormatWriter {

        private int samples;
        private int longest;

        @Override
        public boolean accepts(String acceptHeader) {
            return true;
        }

        @Override
        public String getContentType() {
            return "text/plain";
        }

        @Override
        public void write(OutputStream out, MetricSnapshots batch, EscapingScheme scheme) {
            int characters = 0;
            for (MetricSnapshot metric : batch) {
                samples += metric.getDataPoints().size();
                for (DataPointSnapshot point : metric.getDataPoints()) {
                    characters += point.getLabels().toString().length();
                }
            }
            longest = Math.max(longest, characters);
        }
    }
}
