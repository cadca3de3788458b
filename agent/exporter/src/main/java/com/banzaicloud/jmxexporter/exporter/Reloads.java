package com.banzaicloud.jmxexporter.exporter;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Map;

/**
 * Counts the configurations that took over from another, and those that were rejected. Every configuration gets a
 * collector of its own, whose own counts of reloads always stay 0; these take their place.
 */
final class Reloads {

    private final Counter successes = Counter.builder()
            .name("jmx_config_reload_success_total")
            .help("Number of times configuration have successfully been reloaded.")
            .build();
    private final Counter failures = Counter.builder()
            .name("jmx_config_reload_failure_total")
            .help("Number of times configuration have failed to be reloaded.")
            .build();

    void succeeded() {
        successes.inc();
    }

    void failed() {
        failures.inc();
    }

    /** Puts the counts into a mark. */
    void mark(Map<String, String> answer) {
        answer.put("reloads", String.valueOf(successes.getLongValue()));
        answer.put("reload.failures", String.valueOf(failures.getLongValue()));
    }

    /** An empty registry that exposes these counts where a collector registers its own, and searches deadlocks rarely. */
    PrometheusRegistry registry() {
        return new PrometheusRegistry() {
            @Override
            public void register(Collector collector) {
                super.register(insteadOf(collector));
            }
        };
    }

    private Collector insteadOf(Collector collector) {
        for (Counter counter : new Counter[] {successes, failures}) {
            if (counter.getPrometheusName().equals(collector.getPrometheusName())) {
                return counter;
            }
        }
        return DeadlockMetric.NAMES.contains(collector.getPrometheusName()) ? new DeadlockMetric(collector) : collector;
    }
}
