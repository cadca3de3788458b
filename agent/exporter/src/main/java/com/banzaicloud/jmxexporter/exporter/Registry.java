package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Answer;
import com.banzaicloud.jmxexporter.collection.Gathering;
import com.banzaicloud.jmxexporter.collection.Part;
import com.banzaicloud.jmxexporter.collection.Reason;
import com.banzaicloud.jmxexporter.collection.Skipped;
import com.banzaicloud.jmxexporter.rules.Rules;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The metrics of one configuration. Unlike in the library's own class, one that cannot be read or exposed does not end the
 * scrape. The MBeans are read first, so jmx_scrape_error and jmx_exporter_skipped are those of this collection.
 */
final class Registry extends PrometheusRegistry {

    private static final String ERROR = "jmx_scrape_error";

    private final Reloads reloads;
    private final Rules rules;
    private final Costs costs = new Costs();
    private final List<Collector> metrics = new ArrayList<>();
    private final List<MultiCollector> mbeans = new ArrayList<>();
    /** The names of the metrics above, which no rule may take. */
    private final Set<String> reserved = new HashSet<>(Gathering.exposedNames(Skipped.METRIC, MetricType.GAUGE));
    private Gauge error;
    private volatile Skipped skipped;

    /** An empty one, which exposes these counts where a collector registers its own, and what these rules cost. */
    Registry(Reloads reloads, Rules rules) {
        this.reloads = reloads;
        this.rules = rules;
        reserved.addAll(CostMetrics.NAMES);
    }

    @Override
    public void register(Collector collector) {
        super.register(collector);
        MetricFamilyDescriptor descriptor = collector.getMetricFamilyDescriptor();
        reserved.addAll(Gathering.exposedNames(descriptor.getPrometheusName(), descriptor.getType()));
        if (descriptor.getPrometheusName().equals(ERROR)) {
            error = (Gauge) collector;
        } else {
            metrics.add(DeadlockMetric.insteadOf(reloads.insteadOf(collector)));
        }
    }

    @Override
    public void register(MultiCollector collector) {
        super.register(collector);
        mbeans.add(collector);
    }

    /** Collects all. */
    Answer collect() {
        Cost.Meter meter = new Cost.Meter();
        Gathering gathering = Gathering.begin(reserved);
        if (costs.areExpensive()) {
            gathering.countYields();
        }
        try {
            for (MultiCollector collector : mbeans) {
                collector.collect(); // Its samples are in the gathering then.
            }
            List<Part> parts = gathering.samples().complete(gathering);
            int series = samples(parts);
            for (Collector collector : metrics) {
                try {
                    MetricSnapshot snapshot = collector.collect();
                    if (snapshot != null) { // It has nothing to say now.
                        parts.add(new Part.Whole(snapshot));
                    }
                } catch (Throwable t) {
                    gathering.skip("java.lang", Reason.METRIC_UNREADABLE, t);
                }
            }
            if (!gathering.skipped().isEmpty()) {
                error.set(1);
            }
            parts.add(new Part.Whole(error.collect()));
            parts.add(new Part.Whole(gathering.skipped().snapshot()));
            skipped = gathering.skipped();
            Cost cost = meter.read(series, gathering.mbeans());
            Map<Integer, Long> ofRules = rules.costs();
            parts.addAll(CostMetrics.of(cost, ofRules));
            costs.add(cost, ofRules, gathering.yields() == null ? null : gathering.yields().include());
            return new Answer(parts);
        } finally {
            Gathering.end();
        }
    }

    private static int samples(List<Part> parts) {
        int samples = 0;
        for (Part part : parts) {
            samples += part.size();
        }
        return samples;
    }

    /** What the last collections cost. */
    Costs costs() {
        return costs;
    }

    /** What the last collection left out; null before the first. */
    Skipped skipped() {
        return skipped;
    }
}
