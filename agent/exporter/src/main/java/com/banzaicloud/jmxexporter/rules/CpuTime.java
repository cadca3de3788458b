package com.banzaicloud.jmxexporter.rules;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** How much CPU time a thread has taken so far, which not every JVM measures. */
public final class CpuTime {

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private CpuTime() {}

    /** Nanoseconds of the current thread; -1 if the JVM does not measure it. */
    public static long ofThisThread() {
        try {
            return THREADS.getCurrentThreadCpuTime();
        } catch (UnsupportedOperationException e) {
            return -1;
        }
    }
}
