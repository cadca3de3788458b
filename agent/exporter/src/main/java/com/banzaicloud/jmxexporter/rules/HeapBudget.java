package com.banzaicloud.jmxexporter.rules;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.ArrayList;
import java.util.List;

/**
 * What a collection may take of the application's heap: all but a reserve. By the time an allocation fails it is too
 * late, since it may be one of the application's own threads that fails, and may end the JVM.
 *
 * <p>How much is free shows only right after a garbage collection; before, the heap of any healthy application may be
 * nearly full of garbage. So what is compared with the limit is an estimate of what is alive:
 * <ul>
 * <li>of each memory pool, what was used in it after its last garbage collection; all that is used in any, as long as
 * there was none at all. With Epsilon there never is one;
 * <li>what this thread has allocated since: no more than that can have become alive by the collection. As the answer
 * grows, the JVM collects garbage, and each time the estimate starts anew from what that found;
 * <li>in a pool that such a garbage collection left aside, what the pool has grown by since the collection began, for
 * what is alive moves from the young generation to the old one;
 * <li>what will be made of all that was asked, once it was: see {@link #ANSWER}.
 * </ul>
 * While the free heap, garbage not deducted, exceeds the reserve, nothing of this is looked at. The estimate may be
 * too low where the old generation has grown since it was last collected, or never was. But before an allocation
 * fails, the JVM collects all of the heap; what that leaves free is at least most of the young generation, and the next
 * check stops the collection.
 *
 * <p>After a collection, its own answer is garbage that a pool may still count as alive: until there is a newer figure
 * of that pool, the one from before the collection holds.
 */
final class HeapBudget {

    private static final long MIN_RESERVE = 16 << 20;
    private static final long MAX = Runtime.getRuntime().maxMemory();
    private static final long RESERVE = reserve(MAX);
    /** Bytes that it takes to ask for the names of all MBeans, for each: nothing can be checked meanwhile. */
    private static final long NAME = 256;
    /**
     * Bytes that it takes to sort the samples, for each check that there was, once everything was asked. An attribute has
     * three checks, and takes some 12 bytes then.
     */
    private static final long ANSWER = 8;
    /** Bytes of the answer for each check: an attribute takes some 100. */
    private static final long KEPT = 40;
    /** Bytes that clients take while the answer is written, of which the library makes some samples at a time for each. */
    private static final long WRITING = 1 << 20;

    private static final List<HeapPool> POOLS = pools();
    private static final long TENURED = tenured();
    private static final long LIMIT = limit(MAX, TENURED);

    private final List<HeapPool> pools;
    /** As the collection found them. */
    private final List<HeapPool.Found> found = new ArrayList<>();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private long garbageCollections;
    /** At the last of them that was noticed. */
    private long alive;
    private long allocatedBefore;
    /** At the last check, and what was allocated when that was less than before: then there had been a garbage collection. */
    private long lastUsed;
    private long allocatedAtDrop;
    private long checks;

    HeapBudget() {
        this(POOLS);
    }

    HeapBudget(List<HeapPool> pools) {
        this.pools = pools;
    }

    private static List<HeapPool> pools() {
        List<HeapPool> pools = new ArrayList<>();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) {
                pools.add(new HeapPool(pool));
            }
        }
        return pools;
    }

    private static long tenured() {
        for (HeapPool pool : POOLS) {
            if (pool.isTenured() && pool.size() >= 0) {
                return Math.min(MAX, pool.size());
            }
        }
        return MAX; // It may be as large as the heap.
    }

    private static long reserve(long max) {
        return Math.max(MIN_RESERVE, max / 10);
    }

    /**
     * How many bytes may be alive in a heap with this old generation, which keeps the same part free as the heap: everything
     * that is alive may end up in it, no allocation spans two generations, and the parallel collector may have shrunk the other.
     * Where the generations share the heap, in regions, it keeps twice the least reserve, but no more than half of the heap: a
     * large array needs regions side by side, and with 14 of 64 free after a full collection, G1 did not have nine (JDK 17).
     */
    static long limit(long max, long tenured) {
        long limit = (long) ((1 - (double) reserve(max) / max) * tenured);
        return tenured == max ? Math.min(limit, max - Math.min(max / 2, 2 * MIN_RESERVE)) : limit;
    }

    /** Called by the thread that collects, before it does. */
    void begin() {
        checks = 0;
        garbageCollections = garbageCollections();
        allocatedBefore = allocated();
        allocatedAtDrop = allocatedBefore;
        lastUsed = 0;
        alive = 0;
        found.clear();
        for (HeapPool pool : pools) {
            HeapPool.Found begun = pool.begin();
            found.add(begun);
            alive += begun.aliveBefore();
        }
        require(beans() * NAME, 0);
    }

    /** Called by that thread at least once for each MBean and each attribute. */
    void check() {
        checks++;
        require(checks * ANSWER + WRITING, checks * KEPT);
    }

    /** Called when nothing that a collection made is held any more. */
    void end() {
        for (HeapPool pool : pools) {
            pool.end();
        }
    }

    /**
     * Stops the collection when it leaves less than the reserve. What this thread allocates is garbage for the most part, and
     * stays in the young generation: in the old one, only what is kept of it has to fit.
     */
    private void require(long bytes, long kept) {
        long used = used();
        if (used < lastUsed) {
            allocatedAtDrop = allocated();
        }
        lastUsed = used;
        if (used + Math.max(bytes, kept) <= LIMIT) {
            return;
        }
        long now = garbageCollections();
        if (now != garbageCollections) {
            garbageCollections = now;
            allocatedBefore = allocatedAtDrop;
            alive = 0;
            for (HeapPool.Found pool : found) {
                alive += pool.alive();
            }
        }
        long taken = Math.max(0, allocated() - allocatedBefore);
        if (now == 0) {
            alive = used;
            taken = 0;
        }
        if (alive + taken + bytes > MAX - RESERVE || alive + kept > LIMIT) {
            throw new CollectionTooLarge("The collection was stopped: of the heap's " + mib(MAX) + " MiB, it would have left the application less than "
                    + reserves() + "; " + mib(alive) + " MiB were in use after the last garbage collection, and " + mib(taken + bytes)
                    + " MiB were taken for the collection since. Collect less, by includeObjectNames or excludeObjectNames, or give the JVM more heap (-Xmx).");
        }
    }

    private static String reserves() {
        return TENURED == MAX ? mib(MAX - LIMIT) + " MiB"
                : mib(RESERVE) + " MiB, or less than " + mib(TENURED - LIMIT) + " of the " + mib(TENURED) + " MiB of its old generation";
    }

    /** The server may be the application's own, which need not know. */
    private static long beans() {
        try {
            Integer count = ManagementFactory.getPlatformMBeanServer().getMBeanCount();
            return count == null ? 0 : count;
        } catch (RuntimeException e) {
            return 0;
        }
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** Where the JVM does not measure what a thread allocates, what all threads do is the next best. */
    private static long allocated() {
        long allocated = Allocation.ofThisThread();
        return allocated >= 0 ? allocated : used();
    }

    private long garbageCollections() {
        long count = 0;
        for (GarbageCollectorMXBean collector : collectors) {
            count += Math.max(0, collector.getCollectionCount());
        }
        return count;
    }

    private static long mib(long bytes) {
        return bytes >> 20;
    }
}
