package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A deadline of work passes for a thread that waits as well: an MBean that does not answer delays no configuration. */
@Timeout(60)
class DeadlineTest {

    private static final long NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    @Test
    void passesForACollectionThatWaits() throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Thread waiting = new Thread(() -> {
            try {
                latch.await();
            } catch (InterruptedException e) {
                // Ends.
            }
        });
        waiting.start();
        assertPassesInTime(waiting);
        latch.countDown();
        waiting.join();
        assertPassesInTime(waiting);
    }

    @Test
    void passesWithoutACollection() {
        assertPassesInTime(null);
    }

    private static void assertPassesInTime(Thread collector) {
        long began = System.nanoTime();
        Deadline deadline = new WorkDeadline(NANOS);
        assertFalse(deadline.hasPassed(collector));
        while (!deadline.hasPassed(collector)) {
            LockSupport.parkNanos(1_000_000);
        }
        assertTrue(System.nanoTime() - began >= NANOS, "too early");
    }
}
