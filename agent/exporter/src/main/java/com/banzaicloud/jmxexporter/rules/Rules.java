package com.banzaicloud.jmxexporter.rules;

import io.prometheus.jmx.JmxCollector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.management.MalformedObjectNameException;

/**
 * The rules of one configuration. Each has a budget; one that exceeds it is switched off for as long as the
 * configuration is served. All of them end at once when it is not served any more.
 */
public final class Rules {

    private static final Map<String, List<String>> UNREAD = unread();
    /**
     * Characters that all rules together may make in one collection: a quarter of the heap, from 4 to 64 million. An
     * attribute takes some 300.
     */
    private static final long PRODUCE = Math.max(4 << 20, Math.min(64 << 20, Runtime.getRuntime().maxMemory() / 4));
    private static final String EXCLUDED = "excludeObjectNameAttributes";

    /** Those whose collector is being made. */
    private static Rules making;
    /** Those by which a thread collects. */
    private static final ThreadLocal<Rules> COLLECTING = new ThreadLocal<>();

    private final Map<String, Object> yaml;
    private final List<Rule> rules = new ArrayList<>();
    /** How many of them the collector has compiled, which it does in the order of the file. */
    private int compiled;
    /** Characters that rules have made in this collection. */
    private long produced;
    private final HeapBudget heap;
    private volatile boolean stopped;

    /** The rules of a configuration as it was parsed. */
    public Rules(Map<?, ?> configuration) {
        this(configuration, new HeapBudget());
    }

    Rules(Map<?, ?> configuration, HeapBudget heap) {
        this.heap = heap;
        yaml = withoutUnread(configuration);
        Object list = yaml.get("rules");
        int number = 0;
        for (Object rule : list instanceof List ? (List<?>) list : Collections.emptyList()) {
            number++;
            if (rule instanceof Map && ((Map<?, ?>) rule).containsKey("pattern")) {
                rules.add(new Rule(this, number, String.valueOf(((Map<?, ?>) rule).get("pattern"))));
            }
        }
    }

    /** Attributes of the JVM that are never asked for, by MBean. No metric comes of them, since the collector takes no arrays. */
    private static Map<String, List<String>> unread() {
        Map<String, List<String>> unread = new LinkedHashMap<>();
        // They hold passwords and tokens; neither a rule nor attributesAsLabels shall ever see them.
        unread.put("java.lang:type=Runtime", Arrays.asList("SystemProperties", "ClassPath", "BootClassPath", "LibraryPath", "InputArguments"));
        // Asking starts the Flight Recorder: 300 classes, 2 MiB and 140 ms of CPU in an application that does not use it.
        unread.put("jdk.management.jfr:type=FlightRecorder", Arrays.asList("Configurations", "EventTypes", "Recordings"));
        // Asking has the log manager read its configuration, once for the whole JVM; that is the application's to do.
        unread.put("java.util.logging:type=Logging", Collections.singletonList("LoggerNames"));
        unread.put("com.sun.management:type=HotSpotDiagnostic", Collections.singletonList("DiagnosticOptions"));
        return unread;
    }

    /** Excludes those in the collector's own way, by which it does not even ask for their values. */
    private static Map<String, Object> withoutUnread(Map<?, ?> configuration) {
        Map<String, Object> copy = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : configuration.entrySet()) {
            copy.put(String.valueOf(entry.getKey()), entry.getValue());
        }
        Object given = copy.get(EXCLUDED);
        if (given instanceof Map || !copy.containsKey(EXCLUDED)) { // Anything else is rejected by the collector.
            Map<Object, Object> excluded = new LinkedHashMap<>(given == null ? Collections.emptyMap() : (Map<?, ?>) given);
            for (Map.Entry<String, List<String>> unread : UNREAD.entrySet()) {
                exclude(excluded, unread.getKey(), unread.getValue());
            }
            copy.put(EXCLUDED, excluded);
        }
        return copy;
    }

    private static void exclude(Map<Object, Object> excluded, String bean, List<String> attributes) {
        Object others = excluded.get(bean);
        if (others instanceof List || !excluded.containsKey(bean)) { // As above.
            List<Object> all = new ArrayList<>(attributes);
            all.addAll(others == null ? Collections.emptyList() : (List<?>) others);
            excluded.put(bean, all);
        }
    }

    /** The collector by these rules. */
    public JmxCollector collector() throws MalformedObjectNameException {
        synchronized (Rules.class) {
            making = this;
            try {
                return new JmxCollector("");
            } finally {
                making = null;
            }
        }
    }

    /** What the collector that is being made shall find in its file. */
    static Object parsed() {
        return making.yaml;
    }

    /** The rule of a pattern that the collector compiles; null for patterns of its own. */
    static Rule compiled(String regex) {
        if (making == null || making.compiled == making.rules.size() || !making.rules.get(making.compiled).compilesTo(regex)) {
            return null;
        }
        return making.rules.get(making.compiled++);
    }

    /**
     * Collects with the budget of one collection; by one thread at a time.
     *
     * @throws Stopped when the rules were stopped meanwhile
     * @throws CollectionTooLarge when the application would be left too little heap
     */
    public <T> T collect(Supplier<T> collection) {
        COLLECTING.set(this);
        try {
            while (true) {
                try {
                    return once(collection);
                } catch (Error e) {
                    if (e != Rule.TOO_EXPENSIVE) {
                        throw e;
                    }
                    heap.end(); // Again, with one rule fewer: what this try has made is garbage.
                }
            }
        } finally {
            COLLECTING.remove();
        }
    }

    private <T> T once(Supplier<T> collection) {
        for (Rule rule : rules) {
            rule.collectionStarts();
        }
        produced = 0;
        checkStopped();
        heap.begin();
        return collection.get();
    }

    /** Counts characters that a collection keeps until its answer is written, by all rules. */
    void produce(int characters) {
        produced += characters;
        if (produced > PRODUCE) {
            throw Rule.TOO_EXPENSIVE;
        }
    }

    /** Ends the collections by these rules, wherever they are but inside an MBean of the application. */
    public void stop() {
        stopped = true;
    }

    void checkStopped() {
        if (stopped) {
            throw new Stopped();
        }
    }

    /** Ends the collection of this thread, if it is one, and was stopped or has grown too large. */
    public static void checkpoint() {
        Rules rules = COLLECTING.get();
        if (rules != null) {
            rules.checkStopped();
            rules.heap.check();
        }
    }

    /** Reports whether rules have thrown this to end a collection, or to begin it again. */
    public static boolean haveThrown(Throwable thrown) {
        return thrown instanceof Stopped || thrown instanceof CollectionTooLarge || thrown == Rule.TOO_EXPENSIVE;
    }

    /** Called once nothing that the last collection made is held any more. */
    public void released() {
        heap.end();
    }

    /** Nanoseconds of CPU time by the number of the rule, in this collection so far; empty where the JVM does not measure it. */
    public Map<Integer, Long> costs() {
        Map<Integer, Long> costs = new LinkedHashMap<>();
        for (Rule rule : rules) {
            long nanos = rule.cost().nanos();
            if (nanos >= 0) {
                costs.put(rule.number(), nanos);
            }
        }
        return costs;
    }

    /** Says which rules are switched off, and what to do; null when none is. */
    public String complaint() {
        Rule first = null;
        int others = -1;
        for (Rule rule : rules) {
            if (rule.isOff()) {
                first = first == null ? rule : first;
                others++;
            }
        }
        return first == null ? null : first + (others == 0 ? "" : " and " + others + " more")
                + (others == 0 ? " is" : " are") + " switched off: it costs too much CPU or memory. Simplify the pattern, and what is made of it; the other rules are served.";
    }

    /** Thrown through the collector, which catches exceptions, so it is none. */
    public static final class Stopped extends Error {

        private static final long serialVersionUID = 1;

        private Stopped() {
            super("The configuration is not served any more.", null, false, false);
        }
    }
}
