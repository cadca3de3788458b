package com.banzaicloud.jmxexporter.security;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** Who may have a password derived, in which order. */
class TurnsTest {

    private final Turns turns = new Turns();
    /** Addresses in the order in which they got their turns; each ends it as right. */
    private final BlockingQueue<Integer> order = new LinkedBlockingQueue<>();

    private static InetAddress address(int number) {
        try {
            return InetAddress.getByAddress(new byte[] {10, 0, (byte) (number >> 8), (byte) number});
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private static void until(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(3);
        while (!condition.getAsBoolean()) {
            assertTrue(end - System.nanoTime() > 0, "not in three minutes: " + what);
            Thread.sleep(1);
        }
    }

    /** An address is wrong, and has paused: its turn took no time, and neither does the pause. */
    private void wrong(int number) throws InterruptedException {
        Turns.Turn turn = turns.await(address(number), "wrong");
        assertNotNull(turn);
        turns.end(turn, false);
    }

    /** An address waits in a thread of its own. */
    private CompletableFuture<Void> waits(int number, String digest) throws InterruptedException {
        int before = turns.waiting();
        CompletableFuture<Void> waits = starts(number, digest);
        until("the address waits", () -> turns.waiting() != before || waits.isDone());
        return waits;
    }

    private CompletableFuture<Void> starts(int number, String digest) {
        return CompletableFuture.runAsync(() -> {
            Turns.Turn turn = turns.await(address(number), digest);
            if (turn != null) {
                order.add(number);
                turns.end(turn, true);
            }
        }, task -> new Thread(task).start());
    }

    @Test
    void addressThatGuessedLastIsServedLast() throws Exception {
        wrong(1);
        wrong(2);
        Turns.Turn running = turns.await(address(9), "a");
        List<CompletableFuture<Void>> all = List.of(waits(2, "b"), waits(1, "c"), waits(3, "d"), waits(4, "e"));
        assertEquals(4, turns.waiting());
        turns.end(running, true);
        for (CompletableFuture<Void> one : all) {
            one.get();
        }
        assertEquals(List.of(3, 4, 1, 2), new ArrayList<>(order));
    }

    @Test
    void addressTriesOnePasswordAtATime() throws Exception {
        Turns.Turn running = turns.await(address(1), "a");
        assertNull(turns.await(address(1), "b"));
        CompletableFuture<Void> same = waits(1, "a");
        CompletableFuture<Void> other = waits(2, "b");
        assertNull(turns.await(address(2), "c"));
        turns.end(running, true);
        same.get();
        other.get();
        assertEquals(List.of(1, 2), new ArrayList<>(order));
    }

    @Test
    void addressThatWasRightHasASlotOfItsOwn() throws Exception {
        turns.end(turns.await(address(1), "a"), true);
        Turns.Turn running = turns.await(address(2), "b");
        Turns.Turn kept = turns.await(address(1), "c");
        assertNotNull(kept);
        turns.end(kept, true);
        turns.end(running, true);
    }

    @Test
    void whatWaitsAndWhatIsRememberedIsBounded() throws Exception {
        Turns.Turn running = turns.await(address(0), "a");
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < Turns.MAX_WAITING; i++) {
            all.add(waits(1, "b"));
        }
        all.add(starts(2, "c"));
        until("one of the first address gives way", () -> all.stream().anyMatch(CompletableFuture::isDone));
        assertEquals(Turns.MAX_WAITING, turns.waiting());
        turns.end(running, true);
        for (CompletableFuture<Void> one : all) {
            one.get();
        }
        for (int i = 0; i < 1000; i++) {
            turns.end(turns.await(address(i), "d"), i % 2 == 0);
        }
        assertEquals(2 * Turns.MAX_ADDRESSES, turns.addresses());
        assertTrue(order.contains(2));
    }
}
