package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.rules.Allocation;
import com.banzaicloud.jmxexporter.rules.CpuTime;

/** What one collection costs, on the thread that collects; -1 where the JVM does not measure it. */
final class Cost {

    final long started;
    final long nanos;
    final long cpuNanos;
    final long bytes;
    final int series;
    final int mbeans;

    Cost(long started, long nanos, long cpuNanos, long bytes, int series, int mbeans) {
        this.started = started;
        this.nanos = nanos;
        this.cpuNanos = cpuNanos;
        this.bytes = bytes;
        this.series = series;
        this.mbeans = mbeans;
    }

    /** Measures from now on. */
    static final class Meter {

        private final long started = System.nanoTime();
        private final long cpuNanos = CpuTime.ofThisThread();
        private final long bytes = Allocation.ofThisThread();

        /** The cost up to now. */
        Cost read(int series, int mbeans) {
            return new Cost(started, System.nanoTime() - started, cpuNanos < 0 ? -1 : CpuTime.ofThisThread() - cpuNanos,
                    bytes < 0 ? -1 : Allocation.ofThisThread() - bytes, series, mbeans);
        }
    }
}
