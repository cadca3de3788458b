package com.banzaicloud.jmxexporter.exporter;

import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A metric for which the JVM searches deadlocks: it stops all threads meanwhile, the longer the more there are (103 ms
 * with 4000 that wait for one lock). So the search is for few threads only, and once a minute, and its last value is
 * served in between. Used by one thread at a time.
 */
final class DeadlockMetric implements Collector {

    private static final Set<String> NAMES = Collections.unmodifiableSet(new HashSet<>(Arrays.asList("jvm_threads_deadlocked", "jvm_threads_deadlocked_monitor")));

    private static final int THREADS = 1000;
    private static final long PERIOD_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Collector search;
    private MetricSnapshot last;
    private long searchedAt;

    private DeadlockMetric(Collector search) {
        this.search = search;
    }

    /** What takes the place of a metric that searches each time; what is none stays. */
    static Collector insteadOf(Collector collector) {
        return NAMES.contains(collector.getMetricFamilyDescriptor().getPrometheusName()) ? new DeadlockMetric(collector) : collector;
    }

    /** Null when there is no value: then the metric is not exposed. */
    @Override
    public MetricSnapshot collect() {
        if (last == null || System.nanoTime() - searchedAt >= PERIOD_NANOS) {
            last = ManagementFactory.getThreadMXBean().getThreadCount() > THREADS ? null : search.collect();
            searchedAt = System.nanoTime();
        }
        return last;
    }

    @Override
    public MetricFamilyDescriptor getMetricFamilyDescriptor() {
        return search.getMetricFamilyDescriptor();
    }
}
