package com.banzaicloud.jmxexporter.exporter;

import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/**
 * Passes once a collection has worked for some time, by the CPU time of its thread where the JVM knows it. So how far
 * it comes does not depend on how busy the machine is. A thread that does not work waits for something else than a
 * processor, in an MBean of the application: then the time itself counts.
 */
final class WorkDeadline extends Deadline {

    /** A thread that gets less than this part of a processor reads from a file or socket, say. */
    private static final int WORKING_PART = 1000;
    /** What counts at most of the time between two looks: the process may have been frozen. */
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private long left;
    private long lookedAt = System.nanoTime();
    private Thread worker;
    private long workedBefore;

    WorkDeadline(long nanos) {
        super(nanos);
        left = nanos;
    }

    @Override
    boolean hasPassed(Thread collector) {
        long now = System.nanoTime();
        long time = Math.min(now - lookedAt, LOOK_NANOS);
        lookedAt = now;
        long work = workSinceLastLook(collector);
        boolean works = collector != null && collector.getState() == Thread.State.RUNNABLE && work >= time / WORKING_PART;
        left -= works ? work : time;
        return left < 0;
    }

    /** CPU time of the thread in nanoseconds; 0 where the JVM does not measure it, or at the first look. */
    private long workSinceLastLook(Thread collector) {
        long worked = collector == null ? -1 : cpuTime(collector);
        long work = collector == worker && worked >= 0 ? worked - workedBefore : 0;
        worker = collector;
        workedBefore = worked;
        return work;
    }

    /** In nanoseconds; -1 if the thread has ended or the JVM does not measure it. */
    private static long cpuTime(Thread thread) {
        try {
            return ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId());
        } catch (UnsupportedOperationException e) {
            return -1;
        }
    }
}
