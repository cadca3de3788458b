package io.prometheus.jmx;

import com.banzaicloud.jmxexporter.collection.Gathering;
import com.banzaicloud.jmxexporter.collection.Reason;
import com.banzaicloud.jmxexporter.rules.Rules;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.TabularData;
import javax.management.openmbean.TabularType;

/** Takes the values of one MBean apart until they are samples, as the collector does. */
final class MBeanValues {

    private final ObjectName name;
    private final LinkedHashMap<String, String> properties;
    private final Map<String, String> labels;
    private final JmxCollector.Receiver receiver;
    private final ObjectNameAttributeFilter filter;
    private final Gathering gathering;

    MBeanValues(ObjectName name, LinkedHashMap<String, String> properties, Map<String, String> labels, JmxCollector.Receiver receiver,
            ObjectNameAttributeFilter filter, Gathering gathering) {
        this.name = name;
        this.properties = properties;
        this.labels = labels;
        this.receiver = receiver;
        this.filter = filter;
        this.gathering = gathering;
    }

    /** Makes samples of one attribute. */
    void add(String attribute, String type, String description, Object value) {
        try {
            take(properties, Collections.<String>emptyList(), attribute, type, description, value);
        } catch (Throwable t) { // What composes values may be the application's own code.
            gathering.skip(name.getDomain(), Reason.INVALID_SAMPLE, t);
        }
    }

    private void take(LinkedHashMap<String, String> properties, List<String> keys, String attribute, String type, String description, Object value) {
        if (value == null) {
            return;
        }
        if (value instanceof Number || value instanceof String || value instanceof Boolean) {
            sample(properties, keys, attribute, type, description, value);
        } else if (value instanceof Date) {
            sample(properties, keys, attribute, "java.lang.Double", description, ((Date) value).getTime() / 1000.0);
        } else if (value instanceof CompositeData) {
            takeComposite(properties, with(keys, attribute), (CompositeData) value);
        } else if (value instanceof TabularData) {
            takeTable(properties, keys, attribute, (TabularData) value);
        } else if (value instanceof Optional) {
            take(properties, keys, attribute, type, description, ((Optional<?>) value).orElse(null));
        } else if (value.getClass().isEnum()) {
            sample(properties, keys, attribute, type, description, value.toString());
        } else if (!value.getClass().isArray()) {
            filter.add(name, attribute); // Where the configuration says so, it is not asked for again.
        }
    }

    private void sample(LinkedHashMap<String, String> properties, List<String> keys, String attribute, String type, String description, Object value) {
        Rules.checkpoint();
        try {
            receiver.recordBean(name.getDomain(), properties, labels, keys, attribute, type, description, value);
            handOver();
        } catch (Throwable t) { // Costs this one, not the whole composite or table.
            gathering.skip(name.getDomain(), Reason.INVALID_SAMPLE, t);
        }
    }

    /** So that a sample is only bytes before there is the next. */
    private void handOver() {
        try {
            for (MatchedRule sample : receiver.matchedRules) {
                gathering.samples().add(sample.name, sample.help, sample.type, sample.labels, sample.value, sample.matchName);
            }
        } finally { // One that cannot be kept is not in the way of the next.
            receiver.matchedRules.clear();
        }
    }

    private void takeComposite(LinkedHashMap<String, String> properties, List<String> keys, CompositeData composite) {
        CompositeType type = composite.getCompositeType();
        for (String key : type.keySet()) {
            take(properties, keys, key, type.getType(key).getTypeName(), type.getDescription(), composite.get(key));
        }
    }

    /** Each row makes samples with the columns of its index as properties. The column "value" needs no name of its own. */
    private void takeTable(LinkedHashMap<String, String> properties, List<String> keys, String attribute, TabularData table) {
        TabularType type = table.getTabularType();
        CompositeType row = type.getRowType();
        List<String> index = type.getIndexNames();
        Set<String> columns = new TreeSet<>(row.keySet());
        columns.removeAll(index);
        List<String> longer = with(keys, attribute);
        for (Object element : table.values()) {
            if (!(element instanceof CompositeData)) {
                continue;
            }
            CompositeData composite = (CompositeData) element;
            LinkedHashMap<String, String> indexed = indexed(properties, index, composite);
            for (String column : columns) {
                boolean anonymous = column.equalsIgnoreCase("value");
                take(indexed, anonymous ? keys : longer, anonymous ? attribute : column,
                        row.getType(column).getTypeName(), row.getDescription(), composite.get(column));
            }
        }
    }

    private static LinkedHashMap<String, String> indexed(LinkedHashMap<String, String> properties, List<String> index, CompositeData row) {
        LinkedHashMap<String, String> indexed = new LinkedHashMap<>(properties);
        for (String column : index) {
            Object value = row.get(column);
            if (value == null) {
                continue;
            }
            String key = column;
            while (indexed.containsKey(key)) { // Tables in tables all have a column "key".
                key += "_";
            }
            if (value instanceof CompositeData) {
                CompositeData composite = (CompositeData) value;
                for (String part : composite.getCompositeType().keySet()) {
                    indexed.put(key + "_" + part, String.valueOf(composite.get(part)));
                }
            } else {
                indexed.put(key, value.toString());
            }
        }
        return indexed;
    }

    private static List<String> with(List<String> keys, String key) {
        List<String> longer = new ArrayList<>(keys);
        longer.add(key);
        return longer;
    }
}
