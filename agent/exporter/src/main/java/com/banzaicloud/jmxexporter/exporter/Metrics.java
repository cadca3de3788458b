package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Answer;
import com.banzaicloud.jmxexporter.collection.Skipped;
import com.banzaicloud.jmxexporter.rules.Rules;
import io.prometheus.jmx.BuildInfoMetrics;
import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.instrumentation.jvm.AllocationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmBufferPoolMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmClassLoadingMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmCompilationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmGarbageCollectorMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmNativeMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmRuntimeInfoMetric;
import io.prometheus.metrics.instrumentation.jvm.JvmThreadsMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Map;
import java.util.function.Supplier;

/** What the stock exporter exposes for one configuration: the MBeans by its rules, the JVM, the build. */
final class Metrics implements Supplier<Answer>, AutoCloseable {

    private final Registry registry;
    private final Configuration configuration;
    private final Rules rules;
    private final AllocationMetrics allocations;

    Metrics(Configuration configuration, Reloads reloads) throws Rejection {
        rules = configuration.rules();
        registry = new Registry(reloads, rules);
        JmxCollector collector = configuration.collector(rules);
        this.configuration = configuration;
        new BuildInfoMetrics().register(registry);
        collector.register(registry);
        allocations = configuration.excludesJvmMetrics() ? null : registerJvm(registry);
    }

    /** What JvmMetrics of the library registers, which has no way to take it back. */
    private static AllocationMetrics registerJvm(PrometheusRegistry registry) {
        JvmThreadsMetrics.builder().register(registry);
        JvmBufferPoolMetrics.builder().register(registry);
        JvmClassLoadingMetrics.builder().register(registry);
        JvmCompilationMetrics.builder().register(registry);
        JvmGarbageCollectorMetrics.builder().register(registry);
        JvmMemoryMetrics.builder().register(registry);
        JvmNativeMemoryMetrics.builder().register(registry);
        JvmRuntimeInfoMetric.builder().register(registry);
        ProcessMetrics.builder().register(registry);
        return new AllocationMetrics(registry); // Last: nothing that fails after it leaves listeners behind.
    }

    Configuration configuration() {
        return configuration;
    }

    /** Collects; by one thread at a time. It throws {@link Rules.Stopped} when these metrics were closed meanwhile. */
    Answer collect() {
        return rules.collect(this);
    }

    /** For the rules, which limit what this costs. */
    @Override
    public Answer get() {
        return registry.collect();
    }

    /** Called once the answer of a collection, if there was one, is not needed any more. */
    void released() {
        rules.released();
    }

    /** Says which rules were too expensive; null when none was. */
    String complaint() {
        return rules.complaint();
    }

    /** Reports whether a collection has ended. */
    boolean haveCollected() {
        return registry.skipped() != null;
    }

    /** Puts into a mark what the last collection left out, and what the last ones cost. */
    void mark(Map<String, String> pairs) {
        Skipped skipped = registry.skipped();
        if (skipped != null) {
            skipped.mark(pairs);
        }
        registry.costs().mark(pairs);
    }

    /** Ends what is being collected as well. */
    @Override
    public void close() {
        rules.stop();
        if (allocations != null) {
            allocations.close();
        }
    }
}
