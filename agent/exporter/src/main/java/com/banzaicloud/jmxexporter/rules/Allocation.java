package com.banzaicloud.jmxexporter.rules;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** How much heap a thread has taken so far, which only a JVM with the module jdk.management knows. */
public final class Allocation {

    private Allocation() {}

    /** Bytes that the current thread has allocated; -1 if the JVM does not measure it. */
    public static long ofThisThread() {
        try {
            return Measure.ofThisThread();
        } catch (LinkageError | RuntimeException e) {
            return -1;
        }
    }

    /** A class of its own: where there is no such module, it cannot be linked. */
    private static final class Measure {

        private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

        static long ofThisThread() {
            return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        }
    }
}
