package com.banzaicloud.jmxexporter.collection;

import io.prometheus.metrics.model.snapshots.MetricSnapshot;

/** One metric of an answer. */
public abstract class Part implements Comparable<Part> {

    Part() {}

    /** The name by which the library knows it, and by which an answer is sorted. */
    abstract String exposedName();

    /** The number of its samples. */
    public abstract int size();

    /** The bytes of its longest sample, as far as they matter. */
    abstract int longest();

    /** Reports whether it is written only if requested by its name. */
    abstract boolean isOnlyByName();

    /** Some of its samples, as the library writes them. */
    abstract MetricSnapshot snapshot(int from, int end);

    @Override
    public final int compareTo(Part other) {
        return exposedName().compareTo(other.exposedName());
    }

    /** What the library has made already, which is written as a whole. */
    public static final class Whole extends Part {

        private final MetricSnapshot snapshot;
        private final boolean onlyByName;

        /** One that is always written. */
        public Whole(MetricSnapshot snapshot) {
            this(snapshot, false);
        }

        /** One that is perhaps written only if requested by its name. */
        public Whole(MetricSnapshot snapshot, boolean onlyByName) {
            this.snapshot = snapshot;
            this.onlyByName = onlyByName;
        }

        @Override
        String exposedName() {
            return snapshot.getMetadata().getPrometheusName();
        }

        @Override
        public int size() {
            return 1;
        }

        @Override
        int longest() {
            return 0;
        }

        @Override
        boolean isOnlyByName() {
            return onlyByName;
        }

        @Override
        MetricSnapshot snapshot(int from, int end) {
            return snapshot;
        }
    }
}
