package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the mark says of what collections cost, and when it changes. */
class CostsTest {

    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final Costs costs = new Costs();
    private long now;

    @Test
    void figures() {
        collect(2000, 1000, 50_000_000, 100, 20);
        assertEquals(Map.of("collection.millis", "2000", "collection.cpu.millis", "1000", "collection.bytes", "50000000",
                "collection.series", "100", "collection.mbeans", "20"), mark());
    }

    /** What the JVM does not tell is absent. */
    @Test
    void unknown() {
        costs.add(new Cost(now, 2000 * MILLI, -1, -1, 100, 20), Map.of(), null);
        assertEquals(Map.of("collection.millis", "2000", "collection.series", "100", "collection.mbeans", "20"), mark());
    }

    @Test
    void markFollowsNoSmallChange() {
        collect(2000, 1000, 50_000_000, 100, 20);
        Map<String, String> before = mark();
        for (int i = 1; i < 20; i++) {
            collect(2000 + i % 3 * 150, 1000 - i % 4 * 60, 50_000_000 + i % 5 * 1_000_000, 100 + i % 2, 20);
            assertEquals(before, mark());
        }
        collect(9000, 4000, 50_000_000, 100, 20); // One that met a busy machine.
        assertEquals(before, mark());
        for (int i = 0; i < 5; i++) {
            collect(2000, 1000, 50_000_000, 150, 30);
        }
        assertEquals("150", mark().get("collection.series"));
        assertEquals("30", mark().get("collection.mbeans"));
    }

    @Test
    void expensiveCpu() {
        collect(4000, 4000, 1, 1, 1);
        collect(4000, 4000, 1, 1, 1);
        assertNull(mark().get("expensive"), "two collections are not enough");
        collect(4000, 4000, 1, 1, 1);
        assertEquals("CPU", mark().get("expensive"));
        for (int i = 0; i < 5; i++) {
            collect(4000, 2800, 1, 1, 1);
        }
        assertEquals("CPU", mark().get("expensive"), "a little below the limit");
        for (int i = 0; i < 5; i++) {
            collect(4000, 2000, 1, 1, 1);
        }
        assertNull(mark().get("expensive"));
        for (int i = 0; i < 5; i++) {
            collect(4000, 2800, 1, 1, 1);
        }
        assertNull(mark().get("expensive"));
    }

    /** Several scrapers may come in a row, and after a load the operator's own probe does. */
    @Test
    void scrapesInARow() {
        for (int i = 0; i < 30; i++) {
            now += TimeUnit.SECONDS.toNanos(i % 3 == 0 ? 13 : 1);
            costs.add(new Cost(now, 100 * MILLI, 100 * MILLI, 1, 1, 1), Map.of(), null);
            assertNull(mark().get("expensive"));
        }
    }

    @Test
    void scrapesRightAfterTheLoad() {
        for (int seconds : new int[] {0, 1, 4, 1}) {
            now += TimeUnit.SECONDS.toNanos(seconds);
            costs.add(new Cost(now, 500 * MILLI, 500 * MILLI, 1, 1, 1), Map.of(), null);
            assertNull(mark().get("expensive"));
        }
    }

    /** One collection that meets a busy machine says nothing. */
    @Test
    void oneExpensiveCollection() {
        for (int i = 0; i < 5; i++) {
            collect(i == 3 ? 20_000 : 100, i == 2 ? 20_000 : 100, i == 1 ? Long.MAX_VALUE : 1, 1, 1);
            assertNull(mark().get("expensive"));
        }
    }

    @Test
    void expensiveDurationOrAllocation() {
        for (int i = 0; i < 3; i++) {
            collect(6000, 100, 1, 1, 1);
        }
        assertEquals("Duration", mark().get("expensive"));
        for (int i = 0; i < 3; i++) {
            collect(100, 100, Runtime.getRuntime().maxMemory() / 2 + (1 << 20), 1, 1);
        }
        assertEquals("Allocation", mark().get("expensive"));
    }

    @Test
    void costliestRule() {
        for (int i = 0; i < 3; i++) {
            add(Map.of(1, 10 * MILLI, 3, 100 * MILLI), "a:*");
        }
        assertEquals("3", mark().get("expensive.rule"));
        assertEquals("a:*", mark().get("expensive.include"));
        add(Map.of(1, 110 * MILLI, 3, 100 * MILLI), "a:*");
        assertEquals("3", mark().get("expensive.rule"), "about as much as another");
        add(Map.of(1, 150 * MILLI, 3, 100 * MILLI), null);
        assertEquals("1", mark().get("expensive.rule"));
        assertNull(mark().get("expensive.include"));
        add(Map.of(), null);
        assertNull(mark().get("expensive.rule"));
    }

    private void add(Map<Integer, Long> rules, String include) {
        now += MINUTE;
        costs.add(new Cost(now, 6000 * MILLI, 0, 0, 1, 1), rules, include);
    }

    private void collect(long millis, long cpuMillis, long bytes, int series, int mbeans) {
        now += MINUTE;
        costs.add(new Cost(now, millis * MILLI, cpuMillis * MILLI, bytes, series, mbeans), Map.of(), null);
    }

    private Map<String, String> mark() {
        Map<String, String> mark = new HashMap<>();
        costs.mark(mark);
        return mark;
    }
}
