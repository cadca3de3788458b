package com.banzaicloud.jmxexporter.rules;

/**
 * Estimates the CPU time of a rule. Asking for it costs about as much as a simple pattern, so it is measured for one match
 * or replacement of 31; a prime, so that it is not always the same replacement of the rule. What one takes is the
 * mean of about ten collections, as there may be few in each.
 */
final class RuleCost {

    private static final int EVERY = 31;
    /** How much less an earlier collection counts than the next one. */
    private static final double FADING = 0.9;

    private long operations;
    private long before;
    private double measured;
    private double nanos;
    private long began = -1;

    void collectionStarts() {
        before = operations;
        measured *= FADING;
        nanos *= FADING;
    }

    /** Called before the rule matches or replaces. */
    void begin() {
        began = operations++ % EVERY == 0 ? CpuTime.ofThisThread() : -1;
    }

    /** Called after it, whether it succeeded or not. */
    void end() {
        if (began >= 0) {
            nanos += Math.max(0, CpuTime.ofThisThread() - began);
            measured++;
        }
    }

    /** Nanoseconds of this collection so far; -1 if the JVM does not measure it. */
    long nanos() {
        return measured > 0 ? (long) (nanos / measured * (operations - before)) : operations > 0 ? -1 : 0;
    }
}
