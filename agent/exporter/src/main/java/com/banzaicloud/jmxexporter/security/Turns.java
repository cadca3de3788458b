package com.banzaicloud.jmxexporter.security;

import com.banzaicloud.jmxexporter.http.Threads;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Whose turn it is to have a password derived, which costs CPU of the application and can be asked for by anybody who reaches
 * the port. A slot derives one password at a time, and after a wrong one none for nine times as long as that took: wrong
 * passwords take at most a tenth of one CPU. One slot is for all addresses. Each tries one password at a time, and of those
 * that wait, the address that was wrong longest ago or never is next: who guesses all the time delays others by one turn only.
 * The second slot is kept for addresses that were right before.
 */
final class Turns {

    /** For that many times as long as a wrong password took, none is derived. */
    private static final int PAUSE = 9;
    /** What the dearest hash takes, about; a JVM that stood still meanwhile must not add to the pause. */
    private static final long MAX_DERIVATION_NANOS = TimeUnit.SECONDS.toNanos(1);
    /**
     * More than the longest pause and what a derivation before it takes where others need the CPUs. Who gives up waiting
     * earlier, as a scrape that times out, still has the password derived, and the next one is answered at once.
     */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Half of the connections: one that waits is not closed when others connect. */
    static final int MAX_WAITING = 8;
    static final int MAX_ADDRESSES = 64;

    /** Until when an address that was wrong has to pause; the last one is last. */
    private final Map<InetAddress, Long> wrong = new LinkedHashMap<>();
    private final Set<InetAddress> right = new LinkedHashSet<>();
    private final List<Waiter> waiting = new ArrayList<>();
    private final Slot common = new Slot();
    private final Slot kept = new Slot();

    /** An address that wants to have a password derived. */
    private static final class Waiter {

        private final InetAddress address;
        private final String digest;

        Waiter(InetAddress address, String digest) {
            this.address = address;
            this.digest = digest;
        }

        /** Reports whether another password of the same address is tried already. */
        boolean isSecondOf(Waiter other) {
            return other.address.equals(address) && !other.digest.equals(digest);
        }
    }

    /** Where one password at a time is derived. */
    private static final class Slot {

        private Turn turn;
        private long pausedUntil = System.nanoTime();

        boolean isFree(long now) {
            return turn == null && now - pausedUntil >= 0;
        }
    }

    /** The right to derive one password. */
    static final class Turn {

        private final Waiter of;
        private final Slot slot;
        private final long begin = System.nanoTime();

        private Turn(Waiter of, Slot slot) {
            this.of = of;
            this.slot = slot;
            slot.turn = this;
        }
    }

    /**
     * Waits for the turn of an address; null if it has to try again later. Who gets a turn must {@linkplain #end end} it.
     *
     * @param digest of what is tried
     */
    synchronized Turn await(InetAddress address, String digest) {
        long begin = System.nanoTime();
        Waiter self = new Waiter(address, digest);
        if (pauses(address, begin) || triesAnother(self)) {
            return null;
        }
        if (right.contains(address) && kept.isFree(begin)) {
            return new Turn(self, kept);
        }
        waiting.add(self);
        if (waiting.size() > MAX_WAITING) {
            waiting.remove(dispensable());
            notifyAll();
        }
        try {
            for (long now = begin; waiting.contains(self) && !pauses(address, now); now = System.nanoTime()) {
                if (common.isFree(now) && first() == self) {
                    return new Turn(self, common);
                }
                long left = MAX_WAIT_NANOS - (now - begin);
                if (left <= 0) {
                    return null;
                }
                // Who ends a turn notifies; nobody says that a pause is over.
                long pause = common.turn == null && common.pausedUntil - now > 0 ? common.pausedUntil - now : left;
                Threads.await(this, 1 + TimeUnit.NANOSECONDS.toMillis(Math.min(pause, left)));
            }
            return null;
        } finally {
            waiting.remove(self);
            notifyAll();
        }
    }

    /** Ends a turn, and says whether the password was right. */
    synchronized void end(Turn turn, boolean isRight) {
        long now = System.nanoTime();
        InetAddress address = turn.of.address;
        turn.slot.turn = null;
        wrong.remove(address);
        if (isRight) {
            right.remove(address);
            right.add(address);
            trim(right);
        } else {
            turn.slot.pausedUntil = now + PAUSE * Math.min(now - turn.begin, MAX_DERIVATION_NANOS);
            wrong.put(address, turn.slot.pausedUntil);
            trim(wrong.keySet());
        }
        notifyAll();
    }

    /** Forgets the oldest of too many. */
    private static void trim(Set<InetAddress> addresses) {
        if (addresses.size() > MAX_ADDRESSES) {
            Iterator<InetAddress> oldest = addresses.iterator();
            oldest.next();
            oldest.remove();
        }
    }

    private boolean pauses(InetAddress address, long now) {
        Long until = wrong.get(address);
        return until != null && now - until < 0;
    }

    private boolean triesAnother(Waiter waiter) {
        for (Waiter other : waiting) {
            if (waiter.isSecondOf(other)) {
                return true;
            }
        }
        return common.turn != null && waiter.isSecondOf(common.turn.of) || kept.turn != null && waiter.isSecondOf(kept.turn.of);
    }

    /** Of those that wait, the one that was wrong longest ago or never; of several, the one that waits longest. */
    private Waiter first() {
        Waiter first = waiting.get(0);
        for (Waiter waiter : waiting) {
            if (isBefore(waiter, first)) {
                first = waiter;
            }
        }
        return first;
    }

    /** Of too many that wait, one whose address has another; otherwise the one whose turn is last. */
    private Waiter dispensable() {
        Set<InetAddress> addresses = new LinkedHashSet<>();
        Waiter last = waiting.get(0);
        for (Waiter waiter : waiting) {
            if (!addresses.add(waiter.address)) {
                return waiter;
            }
            if (!isBefore(waiter, last)) {
                last = waiter;
            }
        }
        return last;
    }

    private boolean isBefore(Waiter a, Waiter b) {
        Long lastOfA = wrong.get(a.address);
        Long lastOfB = wrong.get(b.address);
        return lastOfB != null && (lastOfA == null || lastOfA - lastOfB < 0);
    }

    synchronized int waiting() {
        return waiting.size();
    }

    /** How many addresses are remembered. */
    synchronized int addresses() {
        return wrong.size() + right.size();
    }
}
