package com.banzaicloud.jmxexporter.collection;

import com.banzaicloud.jmxexporter.rules.Rules;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot.UnknownDataPointSnapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The samples of one name. They become objects of the library only while they are written. */
final class Family extends Part {

    private static final String SOURCE = "_objectname";

    private final Records records;
    private final String name;
    /** The position of its help. */
    private final int help;
    /** As the rules say; null when they do not agree. */
    private String type;
    /** Its name, until the library has said by which name it knows it. */
    private String exposedName;
    /** Of its samples in the records. */
    private int[] positions = new int[1];
    private int size;

    /** One with the name, help and type of its first sample. */
    Family(Records records, String name, String help, String type) {
        this.records = records;
        this.name = name;
        this.exposedName = name;
        this.help = records.add(help);
        this.type = type;
    }

    /** Adds a sample. */
    void add(String type, int position) {
        if (!type.equals(this.type)) {
            this.type = null;
        }
        if (size == positions.length) {
            positions = Arrays.copyOf(positions, size * 2);
        }
        positions[size++] = position;
    }

    /** Leaves out what cannot be served. */
    void complete(Gathering gathering) {
        Reason reason = gathering.claim(exposedNames());
        if (reason != null) {
            skip(gathering, reason);
            return;
        }
        try {
            exposedName = metadata().getPrometheusName();
        } catch (RuntimeException e) {
            skip(gathering, Reason.INVALID_SAMPLE);
            return;
        }
        records.sort(positions, size);
        if (!isUnique()) {
            addSources(gathering);
            records.sort(positions, size);
            keepFirst(gathering);
        }
        keepValid(gathering);
    }

    /** The names that it takes from others. The library knows a counter without the suffix, whichever way it is named. */
    private List<String> exposedNames() {
        boolean total = type() == MetricType.COUNTER && name.endsWith("_total");
        return Gathering.exposedNames(total ? name.substring(0, name.length() - "_total".length()) : name, type());
    }

    private boolean isUnique() {
        for (int i = 1; i < size; i++) {
            if (records.compareLabels(positions[i - 1], positions[i]) == 0) {
                return false;
            }
        }
        return true;
    }

    /** As the collector: where samples have the same labels, all of the metric get another. */
    private void addSources(Gathering gathering) {
        Arrays.sort(positions, 0, size); // In the order of their arrival.
        int kept = 0;
        for (int i = 0; i < size; i++) {
            Rules.checkpoint();
            Records.Reader reader = records.new Reader(positions[i]);
            Labels labels = reader.labels();
            double value = reader.value();
            String source = reader.source();
            try {
                positions[kept] = records.add(labels.merge(Labels.of(SOURCE, source)), value, source, source.length());
                kept++;
            } catch (RuntimeException e) { // It has such a label.
                gathering.skip(Samples.domain(source), Reason.INVALID_VALUE);
            }
        }
        size = kept;
    }

    private void keepFirst(Gathering gathering) {
        int kept = 0;
        for (int i = 0; i < size; i++) {
            if (kept > 0 && records.compareLabels(positions[kept - 1], positions[i]) == 0) {
                gathering.skip(domain(i), Reason.DUPLICATE_SAMPLE);
            } else {
                positions[kept++] = positions[i];
            }
        }
        size = kept;
    }

    private void keepValid(Gathering gathering) {
        if (type() != MetricType.COUNTER) {
            return; // Others take any value.
        }
        int kept = 0;
        for (int i = 0; i < size; i++) {
            Records.Reader reader = records.new Reader(positions[i]);
            reader.skipLabels();
            try {
                point(Labels.EMPTY, reader.value());
                positions[kept++] = positions[i];
            } catch (RuntimeException e) {
                gathering.skip(domain(i), Reason.INVALID_VALUE);
            }
        }
        size = kept;
    }

    private void skip(Gathering gathering, Reason reason) {
        for (int i = 0; i < size; i++) {
            gathering.skip(domain(i), reason);
        }
        size = 0;
    }

    private String domain(int sample) {
        Records.Reader reader = records.new Reader(positions[sample]);
        reader.skipLabels();
        reader.value();
        return Samples.domain(reader.source());
    }

    /** As the collector: rules that do not agree make a metric without a type. */
    private MetricType type() {
        return "COUNTER".equals(type) ? MetricType.COUNTER : "GAUGE".equals(type) ? MetricType.GAUGE : MetricType.UNKNOWN;
    }

    private MetricMetadata metadata() {
        String text = records.new Reader(help).string();
        return type() == MetricType.COUNTER ? CounterSnapshot.builder().name(name).help(text).build().getMetadata() : new MetricMetadata(name, text);
    }

    private DataPointSnapshot point(Labels labels, double value) {
        MetricType type = type();
        return type == MetricType.COUNTER ? CounterDataPointSnapshot.builder().labels(labels).value(value).build()
                : type == MetricType.GAUGE ? GaugeDataPointSnapshot.builder().labels(labels).value(value).build()
                : UnknownDataPointSnapshot.builder().labels(labels).value(value).build();
    }

    @SuppressWarnings("unchecked") // All are points of the type.
    private MetricSnapshot snapshot(List<?> points) {
        MetricType type = type();
        return type == MetricType.COUNTER ? new CounterSnapshot(metadata(), (List<CounterDataPointSnapshot>) points)
                : type == MetricType.GAUGE ? new GaugeSnapshot(metadata(), (List<GaugeDataPointSnapshot>) points)
                : new UnknownSnapshot(metadata(), (List<UnknownDataPointSnapshot>) points);
    }

    @Override
    String exposedName() {
        return exposedName;
    }

    @Override
    boolean isOnlyByName() {
        return false;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    int longest() {
        return records.longest();
    }

    @Override
    MetricSnapshot snapshot(int from, int end) {
        List<DataPointSnapshot> points = new ArrayList<>(end - from);
        for (int i = from; i < end; i++) {
            Records.Reader reader = records.new Reader(positions[i]);
            Labels labels = reader.labels();
            points.add(point(labels, reader.value()));
        }
        return snapshot(points);
    }
}
