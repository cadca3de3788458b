package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Gathering;
import com.banzaicloud.jmxexporter.collection.Reason;
import com.banzaicloud.jmxexporter.collection.Skipped;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The metrics of one configuration. Unlike in the library's own class, one that cannot be read or exposed does not end the
 * scrape. The MBeans are read first, so jmx_scrape_error and jmx_exporter_skipped are those of this collection.
 */
final class Registry extends PrometheusRegistry {

    private static final String ERROR = "jmx_scrape_error";

    private final Reloads reloads;
    private final List<Collector> metrics = new ArrayList<>();
    private final List<MultiCollector> mbeans = new ArrayList<>();
    /** The names of the metrics above, which no rule may take. */
    private final Set<String> reserved = new HashSet<>(Gathering.exposedNames(Skipped.METRIC, MetricType.GAUGE));
    private Gauge error;
    private volatile Skipped skipped;

    /** An empty one, which exposes these counts where a collector registers its own. */
    Registry(Reloads reloads) {
        this.reloads = reloads;
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

    @Override
    public MetricSnapshots scrape() {
        Gathering gathering = Gathering.begin(reserved);
        try {
            List<MetricSnapshot> snapshots = new ArrayList<>();
            for (MultiCollector collector : mbeans) {
                for (MetricSnapshot snapshot : collector.collect()) {
                    snapshots.add(snapshot);
                }
            }
            for (Collector collector : metrics) {
                try {
                    MetricSnapshot snapshot = collector.collect();
                    if (snapshot != null) { // It has nothing to say now.
                        snapshots.add(snapshot);
                    }
                } catch (Throwable t) {
                    gathering.skip("java.lang", Reason.METRIC_UNREADABLE, t);
                }
            }
            if (!gathering.skipped().isEmpty()) {
                error.set(1);
            }
            snapshots.add(error.collect());
            snapshots.add(gathering.skipped().snapshot());
            skipped = gathering.skipped();
            return new MetricSnapshots(snapshots);
        } finally {
            Gathering.end();
        }
    }

    /** What the last collection left out; null before the first. */
    Skipped skipped() {
        return skipped;
    }
}
