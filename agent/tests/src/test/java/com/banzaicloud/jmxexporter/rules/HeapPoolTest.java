package com.banzaicloud.jmxexporter.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is alive in a pool besides what collections have made. */
class HeapPoolTest {

    private long used;
    private long found;
    private final HeapPool pool = new HeapPool((MemoryPoolMXBean) Proxy.newProxyInstance(HeapPoolTest.class.getClassLoader(),
            new Class<?>[] {MemoryPoolMXBean.class},
            (proxy, method, arguments) -> new MemoryUsage(0, method.getName().equals("getCollectionUsage") ? found : used, 1000, 1000)));

    @Test
    void answerOfTheCollectionBeforeIsGarbage() {
        found = 10;
        assertEquals(10, pool.begin().aliveBefore());
        found = 110;
        pool.end();
        assertEquals(10, pool.begin().aliveBefore());
        found = 20;
        assertEquals(20, pool.begin().aliveBefore());
    }

    /** After a reload while a collection hangs, another one begins. */
    @Test
    void collectionsSideBySide() {
        found = 10;
        used = 100;
        HeapPool.Found first = pool.begin();
        used = 300;
        pool.begin();
        assertEquals(210, first.alive());
    }

    @Test
    void triesThatWereAbortedAreGarbage() {
        Rules rules = new Rules(Map.of(), new HeapBudget(List.of(pool)));
        found = 10;
        int[] tries = {0};
        long alive = rules.collect(() -> {
            if (tries[0]++ == 0) {
                found = 110;
                throw Rule.TOO_EXPENSIVE;
            }
            return pool.begin().aliveBefore();
        });
        assertEquals(10, alive);
    }
}
