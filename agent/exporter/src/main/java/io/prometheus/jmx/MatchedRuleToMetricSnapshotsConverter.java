package io.prometheus.jmx;

import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;

/**
 * Takes the place of the collector's own class, in which the first sample that the library refuses ends the scrape, and
 * whose result the collector keeps until the next one: {@link MBeanValues} has handed over the samples one by one.
 */
final class MatchedRuleToMetricSnapshotsConverter {

    private MatchedRuleToMetricSnapshotsConverter() {}

    /** For the collector, which has no samples any more then. */
    static MetricSnapshots convert(List<MatchedRule> samples) {
        return MetricSnapshots.of();
    }
}
