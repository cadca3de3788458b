package com.banzaicloud.jmxexporter.rules;

import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;

/**
 * One memory pool of the heap, and what collections know of it. It belongs to all configurations, since what one has
 * collected may be another's garbage; what one collection found is its own, since two run side by side where the first one
 * hangs inside an MBean.
 */
final class HeapPool {

    /** It was never collected. */
    private static final long UNSEEN = -1;
    private static final long UNKNOWN = -2;

    private final MemoryPoolMXBean bean;
    /** Alive, by the last garbage collection that was not after a collection of MBeans. */
    private long alive;
    /** What the last garbage collection had left in it when a collection of MBeans had ended. */
    private long foundAfter = UNKNOWN;

    HeapPool(MemoryPoolMXBean bean) {
        this.bean = bean;
    }

    /** Reports whether it is where objects stay: the old generation, or the only one. */
    boolean isTenured() {
        return bean.isUsageThresholdSupported();
    }

    /** Bytes that it may have; -1 if the JVM does not say. */
    long size() {
        return bean.getUsage().getMax();
    }

    /** The pool as a collection finds it that begins. */
    synchronized Found begin() {
        long found = found();
        if (found != foundAfter) {
            alive = Math.max(0, found);
        }
        return new Found(alive, bean.getUsage().getUsed(), found);
    }

    /** Called when nothing of a collection is held any more. */
    synchronized void end() {
        foundAfter = found();
    }

    /** What the last garbage collection left in it; where the JVM does not say, what is used. */
    private long found() {
        MemoryUsage usage = bean.getCollectionUsage();
        if (usage == null) {
            return bean.getUsage().getUsed();
        }
        return usage.getCommitted() == 0 ? UNSEEN : usage.getUsed();
    }

    /** The pool as one collection found it. */
    final class Found {

        private final long aliveBefore;
        private final long usedBefore;
        private final long foundBefore;

        private Found(long aliveBefore, long usedBefore, long foundBefore) {
            this.aliveBefore = aliveBefore;
            this.usedBefore = usedBefore;
            this.foundBefore = foundBefore;
        }

        long aliveBefore() {
            return aliveBefore;
        }

        /** What is alive in it by the last garbage collection, which may have left this pool aside. */
        long alive() {
            long found = found();
            return found != foundBefore ? Math.max(0, found) : aliveBefore + Math.max(0, bean.getUsage().getUsed() - usedBefore);
        }
    }
}
