package com.banzaicloud.jmxexporter.collection;

import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.LinkedHashMap;
import java.util.Map;

/** Counts what a collection leaves out, by domain and reason. An application chooses its domains, so there is a limit. */
public final class Skipped {

    /** The name of the metric. */
    public static final String METRIC = "jmx_exporter_skipped";

    /** Pairs of domain and reason that are counted by themselves. */
    private static final int PAIRS = 50;
    /** Characters of a domain. */
    private static final int DOMAIN = 200;
    private static final Labels OTHER = labels("other", "other");

    private final Map<Labels, Integer> counts = new LinkedHashMap<>();
    private int total;

    Skipped() {}

    void count(String domain, Reason reason) {
        Labels pair = labels(domain.length() <= DOMAIN ? domain : domain.substring(0, DOMAIN) + "…", reason.toString());
        if (counts.size() >= PAIRS && !counts.containsKey(pair)) {
            pair = OTHER;
        }
        Integer before = counts.get(pair);
        counts.put(pair, before == null ? 1 : before + 1);
        total++;
    }

    private static Labels labels(String domain, String reason) {
        return Labels.of("domain", domain, "reason", reason);
    }

    /** Reports whether everything is served. */
    public boolean isEmpty() {
        return total == 0;
    }

    /** The counts as a metric, which has no series while everything is served. */
    public GaugeSnapshot snapshot() {
        GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(METRIC)
                .help("MBeans, attributes and samples that the last collection left out.");
        for (Map.Entry<Labels, Integer> count : counts.entrySet()) {
            gauge.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder().labels(count.getKey()).value(count.getValue()).build());
        }
        return gauge.build();
    }

    /** Puts the sum into a mark, and the pair that has the largest part of it; nothing when everything is served. */
    public void mark(Map<String, String> pairs) {
        if (isEmpty()) {
            return;
        }
        Labels largest = null;
        for (Map.Entry<Labels, Integer> count : counts.entrySet()) {
            // By name among equals: the order of MBeans may change from one collection to the next, and the mark should not.
            int more = largest == null ? 1 : count.getValue().compareTo(counts.get(largest));
            if (more > 0 || more == 0 && count.getKey().compareTo(largest) < 0) {
                largest = count.getKey();
            }
        }
        pairs.put("skipped", String.valueOf(total));
        pairs.put("skipped.domain", largest.get("domain"));
        pairs.put("skipped.reason", largest.get("reason"));
    }
}
