package io.prometheus.metrics.instrumentation.jvm;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import javax.management.ListenerNotFoundException;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;

/**
 * {@link JvmMemoryPoolAllocationMetrics} with an end: the library never removes its listeners, and with one of
 * them in the JVM nothing of this class loader could ever be collected. It lives in the library's package for
 * the sake of the listener, which is not public.
 */
public final class AllocationMetrics implements AutoCloseable {

    private final NotificationListener listener;

    /** Registers the metric and listens to the garbage collectors. */
    public AllocationMetrics(PrometheusRegistry registry) {
        Counter allocated = Counter.builder()
                .name("jvm_memory_pool_allocated_bytes_total")
                .help("Total bytes allocated in a given JVM memory pool. Only updated after GC, not continuously.")
                .labelNames("pool")
                .register(registry);
        listener = new JvmMemoryPoolAllocationMetrics.AllocationCountingNotificationListener(allocated);
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector instanceof NotificationEmitter) {
                ((NotificationEmitter) collector).addNotificationListener(listener, null, null);
            }
        }
    }

    /** Stops listening. */
    @Override
    public void close() {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector instanceof NotificationEmitter) {
                try {
                    ((NotificationEmitter) collector).removeNotificationListener(listener);
                } catch (ListenerNotFoundException e) {
                    // Then it holds nothing.
                }
            }
        }
    }
}
