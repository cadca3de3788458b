package com.banzaicloud.jmxexporter.exporter;

/** Until when somebody waits for a collection. Used by the thread that waits. */
class Deadline {

    private final long nanos;
    private final long since = System.nanoTime();

    /** Passes after this time, whatever happens meanwhile. */
    Deadline(long nanos) {
        this.nanos = nanos;
    }

    /**
     * Reports whether it has passed. Called at each look at the collection.
     *
     * @param collector the thread of the collection; null while there is none to wait for
     */
    boolean hasPassed(Thread collector) {
        return System.nanoTime() - since > nanos;
    }
}
