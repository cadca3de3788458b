package io.prometheus.metrics.config;

/**
 * Takes the place of the library's own class, which reads system properties, the environment and files. Those are
 * the application's, meant for its own copy of the library, and one that is wrong would stop the agent. Without
 * exemplars, which MBeans do not have, the library starts no thread of its own either.
 */
public final class PrometheusPropertiesLoader {

    private PrometheusPropertiesLoader() {}

    /** The defaults, without exemplars. */
    public static PrometheusProperties load() {
        return PrometheusProperties.builder()
                .defaultMetricsProperties(MetricsProperties.builder().exemplarsEnabled(false).build())
                .build();
    }
}
