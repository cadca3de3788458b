package io.prometheus.jmx;

import com.banzaicloud.jmxexporter.collection.Gathering;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import java.util.List;

/** A metric in the making. The library has three builders for it, which have nothing in common. */
abstract class MetricFamily {

    private final List<String> exposedNames;

    private MetricFamily(List<String> exposedNames) {
        this.exposedNames = exposedNames;
    }

    /** One of this type, with the name and help of a sample. */
    static MetricFamily of(MetricType type, MatchedRule sample) {
        switch (type) {
            case COUNTER:
                return new Counters(sample);
            case GAUGE:
                return new Gauges(sample);
            default:
                return new Unknowns(sample);
        }
    }

    /** The names that it takes from others. */
    List<String> exposedNames() {
        return exposedNames;
    }

    /** Adds a sample, unless the library refuses it. */
    abstract void add(Labels labels, double value);

    abstract MetricSnapshot snapshot();

    private static final class Counters extends MetricFamily {

        private final CounterSnapshot.Builder builder = CounterSnapshot.builder();

        Counters(MatchedRule sample) {
            super(Gathering.exposedNames(withoutTotal(sample.name), MetricType.COUNTER));
            builder.name(sample.name).help(sample.help);
        }

        /** The library knows a counter without the suffix, whichever way it is named. */
        private static String withoutTotal(String name) {
            return name.endsWith("_total") ? name.substring(0, name.length() - "_total".length()) : name;
        }

        @Override
        void add(Labels labels, double value) {
            builder.dataPoint(CounterSnapshot.CounterDataPointSnapshot.builder().labels(labels).value(value).build());
        }

        @Override
        MetricSnapshot snapshot() {
            return builder.build();
        }
    }

    private static final class Gauges extends MetricFamily {

        private final GaugeSnapshot.Builder builder = GaugeSnapshot.builder();

        Gauges(MatchedRule sample) {
            super(Gathering.exposedNames(sample.name, MetricType.GAUGE));
            builder.name(sample.name).help(sample.help);
        }

        @Override
        void add(Labels labels, double value) {
            builder.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder().labels(labels).value(value).build());
        }

        @Override
        MetricSnapshot snapshot() {
            return builder.build();
        }
    }

    private static final class Unknowns extends MetricFamily {

        private final UnknownSnapshot.Builder builder = UnknownSnapshot.builder();

        Unknowns(MatchedRule sample) {
            super(Gathering.exposedNames(sample.name, MetricType.UNKNOWN));
            builder.name(sample.name).help(sample.help);
        }

        @Override
        void add(Labels labels, double value) {
            builder.dataPoint(UnknownSnapshot.UnknownDataPointSnapshot.builder().labels(labels).value(value).build());
        }

        @Override
        MetricSnapshot snapshot() {
            return builder.build();
        }
    }
}
