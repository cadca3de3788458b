package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Part;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The cost of a collection as metrics of its own answer. */
final class CostMetrics {

    private static final String DURATION = "jmx_exporter_collection_duration_seconds";
    private static final String CPU = "jmx_exporter_collection_cpu_seconds";
    private static final String BYTES = "jmx_exporter_collection_allocated_bytes";
    private static final String SERIES = "jmx_exporter_collection_series";
    private static final String MBEANS = "jmx_exporter_collection_mbeans";
    private static final String RULES = "jmx_exporter_collection_rule_cpu_seconds";
    static final List<String> NAMES = Collections.unmodifiableList(Arrays.asList(DURATION, CPU, BYTES, SERIES, MBEANS, RULES));

    private static final double SECOND = 1e9;

    private CostMetrics() {}

    /** What is not known is absent. */
    static List<Part> of(Cost cost, Map<Integer, Long> rules) {
        List<Part> parts = new ArrayList<>();
        add(parts, DURATION, "Time that the collection of this answer took, in seconds.", cost.nanos / SECOND);
        if (cost.cpuNanos >= 0) {
            add(parts, CPU, "CPU time of the collection of this answer, in seconds.", cost.cpuNanos / SECOND);
        }
        if (cost.bytes >= 0) {
            add(parts, BYTES, "Heap that the collection of this answer allocated, in bytes.", cost.bytes);
        }
        add(parts, SERIES, "Series in this answer that rules made of MBeans.", cost.series);
        add(parts, MBEANS, "MBeans that the collection of this answer read.", cost.mbeans);
        GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(RULES)
                .help("CPU time of the collection of this answer by number of the rule, in seconds, estimated from some matches of each.");
        for (Map.Entry<Integer, Long> rule : rules.entrySet()) {
            gauge.dataPoint(GaugeDataPointSnapshot.builder().labels(Labels.of("rule", rule.getKey().toString())).value(rule.getValue() / SECOND).build());
        }
        parts.add(new Part.Whole(gauge.build(), true));
        return parts;
    }

    private static void add(List<Part> parts, String name, String help, double value) {
        parts.add(new Part.Whole(GaugeSnapshot.builder().name(name).help(help).dataPoint(GaugeDataPointSnapshot.builder().value(value).build()).build()));
    }
}
