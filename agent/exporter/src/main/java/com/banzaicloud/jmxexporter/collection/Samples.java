package com.banzaicloud.jmxexporter.collection;

import io.prometheus.metrics.model.snapshots.Labels;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The samples that rules have made of MBeans, and the metrics that they make. */
public final class Samples {

    private final Records records = new Records();
    private Map<String, Family> families = new HashMap<>();
    private int size;

    Samples() {}

    /**
     * Adds a sample.
     *
     * @param matched what the rule was matched with: domain&lt;properties&gt;&lt;keys&gt;attribute: value
     */
    public void add(String name, String help, String type, Labels labels, double value, String matched) {
        Family family = families.get(name);
        if (family == null) {
            family = new Family(records, name, help, type);
            families.put(name, family);
        }
        int end = matched.lastIndexOf(':');
        family.add(type, records.add(labels, value, matched, end <= 0 ? matched.length() : end));
        size++;
    }

    /** How many were added. */
    public int size() {
        return size;
    }

    /**
     * The metrics that can be served, without samples that cannot. They are looked at in the order of their names, so that of
     * two that want one name it is not the order of the MBeans that decides.
     */
    public List<Part> complete(Gathering gathering) {
        Family[] sorted = families.values().toArray(new Family[0]);
        families = null;
        Arrays.sort(sorted);
        List<Part> served = new ArrayList<>(sorted.length);
        for (Family family : sorted) {
            family.complete(gathering);
            if (family.size() > 0) {
                served.add(family);
            }
        }
        return served;
    }

    /** Of what a rule was matched with. */
    static String domain(String matched) {
        int end = matched.indexOf('<');
        return end < 0 ? matched : matched.substring(0, end);
    }
}
