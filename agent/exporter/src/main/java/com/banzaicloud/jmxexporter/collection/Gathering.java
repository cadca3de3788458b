package com.banzaicloud.jmxexporter.collection;

import com.banzaicloud.jmxexporter.rules.Rules;
import io.prometheus.metrics.model.registry.MetricType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.management.RuntimeErrorException;

/**
 * One collection in progress. An MBean, a sample or a metric that cannot be served is skipped, and the collection
 * continues. It belongs to the thread that collects, because the collector has no parameter that would pass it on.
 */
public final class Gathering {

    private static final ThreadLocal<Gathering> CURRENT = new ThreadLocal<>();

    private final Set<String> reserved;
    private final Set<String> claimed = new HashSet<>();
    private final Skipped skipped = new Skipped();
    private final Samples samples = new Samples();
    private Yields yields;
    private int mbeans;

    private Gathering(Set<String> reserved) {
        this.reserved = reserved;
    }

    /**
     * Begins the collection of this thread, which it has to end.
     *
     * @param reserved names under which no rule may expose anything
     */
    public static Gathering begin(Set<String> reserved) {
        Gathering gathering = new Gathering(reserved);
        CURRENT.set(gathering);
        return gathering;
    }

    /** The collection of this thread. */
    public static Gathering current() {
        return CURRENT.get();
    }

    /** Ends the collection of this thread. */
    public static void end() {
        CURRENT.remove();
    }

    /** Counts from now on which MBeans yield samples. */
    public void countYields() {
        yields = new Yields();
    }

    /** Which MBeans have yielded samples; null where that is not counted. */
    public Yields yields() {
        return yields;
    }

    /** Counts an MBean that was read. */
    public void read() {
        mbeans++;
    }

    /** How many MBeans were read. */
    public int mbeans() {
        return mbeans;
    }

    /** What rules have made of MBeans. */
    public Samples samples() {
        return samples;
    }

    /** What was left out so far. */
    public Skipped skipped() {
        return skipped;
    }

    /** Leaves something out. */
    public void skip(String domain, Reason reason) {
        skipped.count(domain, reason);
    }

    /** Leaves out what threw this, unless it ends the collection. */
    public void skip(String domain, Reason reason, Throwable thrown) {
        rethrowFatal(thrown);
        skip(domain, reason);
    }

    /** Throws what ends the collection: memory is out, the thread is stopped, or the rules have ended it. */
    public static void rethrowFatal(Throwable thrown) {
        // The MBean server wraps the errors of an MBean, and no other.
        Throwable error = thrown instanceof RuntimeErrorException ? ((RuntimeErrorException) thrown).getTargetError() : thrown;
        if (error instanceof OutOfMemoryError || error instanceof ThreadDeath || Rules.haveThrown(error)) {
            throw (Error) error;
        }
    }

    /** Takes names for a metric; returns why it cannot have them, or null. */
    public Reason claim(List<String> names) {
        for (String name : names) {
            if (reserved.contains(name)) {
                return Reason.RESERVED_NAME;
            }
            if (claimed.contains(name)) {
                return Reason.CONFLICTING_TYPE;
            }
        }
        claimed.addAll(names);
        return null;
    }

    /** The names under which a metric of this type is exposed, and the one that it goes by in the library. */
    public static List<String> exposedNames(String name, MetricType type) {
        List<String> names = new ArrayList<>();
        names.add(name);
        for (String suffix : suffixes(type)) {
            names.add(name + suffix);
        }
        return names;
    }

    private static List<String> suffixes(MetricType type) {
        switch (type) {
            case COUNTER:
                return Arrays.asList("_total");
            case INFO:
                return Arrays.asList("_info");
            case SUMMARY:
                return Arrays.asList("_count", "_sum");
            case HISTOGRAM:
                return Arrays.asList("_bucket", "_count", "_sum");
            default:
                return Arrays.asList();
        }
    }
}
