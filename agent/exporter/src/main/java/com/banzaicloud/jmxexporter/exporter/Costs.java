package com.banzaicloud.jmxexporter.exporter;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What the last collections cost, for the mark: the medians, since one collection may meet a busy machine. A mark that is
 * written again costs the application more than the figures are worth, so they follow only larger changes.
 */
final class Costs {

    private static final int LAST = 5;
    private static final int ENOUGH = 3;
    /** A change of less than this part of a figure is not shown, and what is expensive stays so until it is that much below the limit. */
    private static final double PART = 0.2;

    /** Half of Prometheus' default scrape_timeout. */
    private static final double MAX_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Of one CPU. */
    private static final double MAX_CPU = 0.05;
    /** For how long a configuration is served before its use of the CPU counts: at first, code is cold and scrapes come in a row. */
    private static final long WARM_UP_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final double MAX_BYTES = Runtime.getRuntime().maxMemory() / 2.0;

    private static final String[] REASONS = {"CPU", "Duration", "Allocation"};
    private static final String[] FIGURES = {"collection.millis", "collection.cpu.millis", "collection.bytes", "collection.series", "collection.mbeans"};
    /** Changes that are never shown, however small a figure is. */
    private static final long[] NOISE = {100, 50, 4 << 20, 10, 10};

    private final Cost[] last = new Cost[LAST];
    private int count;
    private long firstStarted;
    /** As they are shown; null before the first collection. */
    private long[] shown;
    private String reason;
    private int rule;
    private volatile Map<String, String> pairs = Collections.emptyMap();

    /** Reports whether it is worth finding out which MBeans yield nothing. */
    boolean areExpensive() {
        return reason != null;
    }

    /**
     * Adds a collection.
     *
     * @param rules nanoseconds of CPU time by the number of the rule
     * @param include the patterns that keep what yields; null if there are none
     */
    void add(Cost cost, Map<Integer, Long> rules, String include) {
        firstStarted = count == 0 ? cost.started : firstStarted;
        last[count++ % LAST] = cost;
        long[] figures = figures();
        if (shown == null || differs(figures)) {
            shown = figures;
        }
        reason = reason();
        Map<String, String> next = new HashMap<>();
        for (int i = 0; i < FIGURES.length; i++) {
            put(next, FIGURES[i], shown[i] < 0 ? null : String.valueOf(shown[i]));
        }
        if (reason != null) {
            rule = costliest(rules);
            next.put("expensive", reason);
            put(next, "expensive.rule", rule == 0 ? null : String.valueOf(rule));
            put(next, "expensive.include", include);
        }
        pairs = next;
    }

    /** Puts the figures into a mark, and what is expensive. */
    void mark(Map<String, String> mark) {
        mark.putAll(pairs);
    }

    private static void put(Map<String, String> pairs, String key, String value) {
        if (value != null) {
            pairs.put(key, value);
        }
    }

    private long[] figures() {
        int size = Math.min(count, LAST);
        long[][] figures = new long[FIGURES.length][size];
        for (int i = 0; i < size; i++) {
            figures[0][i] = TimeUnit.NANOSECONDS.toMillis(last[i].nanos);
            figures[1][i] = last[i].cpuNanos < 0 ? -1 : TimeUnit.NANOSECONDS.toMillis(last[i].cpuNanos);
            figures[2][i] = last[i].bytes;
            figures[3][i] = last[i].series;
            figures[4][i] = last[i].mbeans;
        }
        long[] medians = new long[FIGURES.length];
        for (int i = 0; i < medians.length; i++) {
            medians[i] = median(figures[i]);
        }
        return medians;
    }

    private boolean differs(long[] figures) {
        for (int i = 0; i < figures.length; i++) {
            if (Math.abs(figures[i] - shown[i]) > Math.max(NOISE[i], shown[i] * PART)) {
                return true;
            }
        }
        return false;
    }

    private static long median(long[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    /** Why they are expensive: as before, as long as that holds; null if they are not. */
    private String reason() {
        int size = Math.min(count, LAST);
        if (size < ENOUGH) {
            return null;
        }
        long[] nanos = new long[size];
        long[] cpu = new long[size];
        long[] bytes = new long[size];
        for (int i = 0; i < size; i++) {
            nanos[i] = last[i].nanos;
            cpu[i] = last[i].cpuNanos;
            bytes[i] = last[i].bytes;
        }
        double[] excess = {cpuLoad(median(cpu), size) / MAX_CPU, median(nanos) / MAX_NANOS, median(bytes) / MAX_BYTES};
        String found = null;
        for (int i = REASONS.length - 1; i >= 0; i--) {
            if (REASONS[i].equals(reason) && excess[i] > 1 - PART) {
                return reason;
            }
            found = excess[i] > 1 ? REASONS[i] : found;
        }
        return found;
    }

    /** How much of one CPU collections use that take this CPU time. By the mean of the times between them: scrapers may come in a row. */
    private double cpuLoad(long cpuNanos, int size) {
        long started = last[(count - 1) % LAST].started;
        long span = started - last[(count - size) % LAST].started;
        return started - firstStarted < WARM_UP_NANOS ? 0 : cpuNanos / Math.max(1.0, (double) span / (size - 1));
    }

    /** The number of the rule that costs most; the one from before, unless another costs clearly more. 0 if none costs any. */
    private int costliest(Map<Integer, Long> rules) {
        int costliest = 0;
        long most = 0;
        for (Map.Entry<Integer, Long> each : rules.entrySet()) {
            if (each.getValue() > most) {
                costliest = each.getKey();
                most = each.getValue();
            }
        }
        Long before = rules.get(rule);
        return before != null && before > most * (1 - PART) ? rule : costliest;
    }
}
