package com.banzaicloud.jmxexporter.collection;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which MBeans have yielded samples, by domain and type. An application may have any number of types, so beyond a limit only
 * domains are told apart, and beyond another nothing.
 */
public final class Yields {

    private static final int TYPES = 1000;
    private static final int DOMAINS = 1000;
    private static final int PATTERNS = 10;
    private static final int LENGTH = 1024;

    private final Map<String, Map<String, Group>> domains = new TreeMap<>();
    private int types;
    private boolean tooMany;

    Yields() {}

    /**
     * Counts an MBean.
     *
     * @param type null if it has none
     */
    public void count(String domain, String type, boolean yields) {
        Map<String, Group> groups = domains.get(domain);
        if (groups == null && domains.size() == DOMAINS) {
            tooMany = true;
            return;
        }
        if (groups == null) {
            groups = new TreeMap<>();
            domains.put(domain, groups);
        }
        String key = type == null || type.indexOf(' ') >= 0 ? "" : type; // The patterns are separated by spaces.
        Group group = groups.get(key);
        if (group == null && types >= TYPES) {
            key = "";
            group = groups.get(key);
        }
        if (group == null) {
            group = new Group();
            groups.put(key, group);
            types++;
        }
        group.yielding |= yields;
    }

    /**
     * The patterns for includeObjectNames that keep every MBean that yielded, and leave out others, separated by spaces; null
     * if there are none that leave out any.
     */
    public String include() {
        Map<String, List<String>> patterns = new TreeMap<>();
        for (Map.Entry<String, Map<String, Group>> domain : domains.entrySet()) {
            List<String> ofDomain = patterns(domain.getKey(), domain.getValue());
            if (ofDomain != null) {
                patterns.put(domain.getKey(), ofDomain);
            }
        }
        while (isTooMuch(patterns)) {
            String most = most(patterns);
            if (most == null) {
                return null;
            }
            patterns.put(most, whole(most));
        }
        return !tooMany && !patterns.isEmpty() && leavesOut(patterns) ? join(patterns) : null;
    }

    private static List<String> whole(String domain) {
        List<String> whole = new ArrayList<>();
        whole.add(domain + ":*");
        return whole;
    }

    /** Null if nothing of the domain has yielded. */
    private static List<String> patterns(String domain, Map<String, Group> groups) {
        List<String> patterns = new ArrayList<>();
        boolean barren = false;
        for (Map.Entry<String, Group> group : groups.entrySet()) {
            if (!group.getValue().yielding) {
                barren = true;
            } else if (group.getKey().isEmpty()) {
                return whole(domain);
            } else {
                patterns.add(domain + ":type=" + group.getKey() + ",*");
            }
        }
        return patterns.isEmpty() ? null : barren ? patterns : whole(domain);
    }

    private static boolean isTooMuch(Map<String, List<String>> patterns) {
        int count = 0;
        for (List<String> ofDomain : patterns.values()) {
            count += ofDomain.size();
        }
        return count > PATTERNS || join(patterns).length() > LENGTH;
    }

    /** The domain with most patterns, the first one by its name; null if each has one. */
    private static String most(Map<String, List<String>> patterns) {
        String most = null;
        int size = 1;
        for (Map.Entry<String, List<String>> domain : patterns.entrySet()) {
            if (domain.getValue().size() > size) {
                most = domain.getKey();
                size = domain.getValue().size();
            }
        }
        return most;
    }

    private boolean leavesOut(Map<String, List<String>> patterns) {
        boolean leavesOut = false;
        for (Map.Entry<String, Map<String, Group>> domain : domains.entrySet()) {
            List<String> ofDomain = patterns.get(domain.getKey());
            if (ofDomain != null && domain.getKey().indexOf(' ') >= 0) {
                return false;
            }
            boolean isWhole = ofDomain != null && ofDomain.equals(whole(domain.getKey()));
            for (Group group : domain.getValue().values()) {
                leavesOut |= !isWhole && !group.yielding;
            }
        }
        return leavesOut;
    }

    private static String join(Map<String, List<String>> patterns) {
        StringBuilder joined = new StringBuilder();
        for (List<String> ofDomain : patterns.values()) {
            for (String pattern : ofDomain) {
                joined.append(joined.length() == 0 ? "" : " ").append(pattern);
            }
        }
        return joined.toString();
    }

    private static final class Group {
        private boolean yielding;
    }
}
