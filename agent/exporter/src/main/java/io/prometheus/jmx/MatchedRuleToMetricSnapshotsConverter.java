package io.prometheus.jmx;

import com.banzaicloud.jmxexporter.collection.Gathering;
import com.banzaicloud.jmxexporter.collection.Reason;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Takes the place of the collector's own class, in which the first sample that the library refuses ends the scrape:
 * here it is left out, and so is a metric whose name is taken.
 */
final class MatchedRuleToMetricSnapshotsConverter {

    private final Gathering gathering = Gathering.current();

    private MatchedRuleToMetricSnapshotsConverter() {}

    /** For the collector, which does not need the samples any more then. */
    static MetricSnapshots convert(List<MatchedRule> samples) {
        return new MatchedRuleToMetricSnapshotsConverter().all(samples);
    }

    /** Sorted, so that of two metrics that want one name it is not the order of the MBeans that decides. */
    private MetricSnapshots all(List<MatchedRule> samples) {
        Map<String, List<MatchedRule>> byName = new TreeMap<>();
        for (MatchedRule sample : samples) {
            List<MatchedRule> metric = byName.get(sample.name);
            if (metric == null) {
                metric = new ArrayList<>();
                byName.put(sample.name, metric);
            }
            metric.add(sample);
        }
        samples.clear(); // So that there is never twice of everything.
        List<MetricSnapshot> snapshots = new ArrayList<>();
        for (Iterator<List<MatchedRule>> metrics = byName.values().iterator(); metrics.hasNext();) {
            List<MatchedRule> metric = metrics.next();
            metrics.remove();
            try {
                MetricSnapshot snapshot = metric(metric);
                if (snapshot != null) {
                    snapshots.add(snapshot);
                }
            } catch (Throwable t) {
                for (MatchedRule sample : metric) {
                    gathering.skip(domain(sample), Reason.INVALID_SAMPLE, t);
                }
            }
        }
        return new MetricSnapshots(snapshots);
    }

    /** The metric of samples with one name; null if none of them can be served. */
    private MetricSnapshot metric(List<MatchedRule> samples) {
        MetricFamily family = MetricFamily.of(type(samples), samples.get(0));
        Reason reason = gathering.claim(family.exposedNames());
        boolean unique = areLabelsUnique(samples);
        Set<Labels> seen = new HashSet<>();
        for (MatchedRule sample : samples) {
            if (reason != null) {
                gathering.skip(domain(sample), reason);
                continue;
            }
            try {
                Labels labels = unique ? sample.labels : sample.labels.merge(Labels.of("_objectname", objectName(sample)));
                if (unique || seen.add(labels)) {
                    family.add(labels, sample.value);
                } else {
                    gathering.skip(domain(sample), Reason.DUPLICATE_SAMPLE);
                }
            } catch (Throwable t) {
                gathering.skip(domain(sample), Reason.INVALID_VALUE, t);
            }
        }
        return reason == null ? family.snapshot() : null;
    }

    /** As the collector: rules that do not agree make a metric without a type. */
    private static MetricType type(List<MatchedRule> samples) {
        String type = samples.get(0).type;
        for (MatchedRule sample : samples) {
            if (!sample.type.equals(type)) {
                return MetricType.UNKNOWN;
            }
        }
        return type.equals("COUNTER") ? MetricType.COUNTER : type.equals("GAUGE") ? MetricType.GAUGE : MetricType.UNKNOWN;
    }

    private static boolean areLabelsUnique(List<MatchedRule> samples) {
        Set<Labels> seen = new HashSet<>();
        for (MatchedRule sample : samples) {
            if (!seen.add(sample.labels)) {
                return false;
            }
        }
        return true;
    }

    /** What a rule is matched with is domain&lt;properties&gt;&lt;keys&gt;attribute: value. */
    private static String domain(MatchedRule sample) {
        int end = sample.matchName.indexOf('<');
        return end < 0 ? sample.matchName : sample.matchName.substring(0, end);
    }

    private static String objectName(MatchedRule sample) {
        int end = sample.matchName.lastIndexOf(':');
        return end <= 0 ? sample.matchName : sample.matchName.substring(0, end);
    }
}
