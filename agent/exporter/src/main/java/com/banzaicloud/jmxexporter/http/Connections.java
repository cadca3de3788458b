package com.banzaicloud.jmxexporter.http;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The connections that there are: a bounded number, of which those that wait for their client give way to new ones. */
final class Connections {

    /** For how long no thread is asked for after one was refused. */
    private static final long LIMITED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final List<Connection> all = new ArrayList<>(Limits.CONNECTIONS);
    /** How many may be there at once. */
    private int limit = Limits.CONNECTIONS;
    private long limitedAt;
    private long turns;
    private boolean closed;

    /**
     * Makes room for a new connection, if need be by closing the one that is idle for the longest time, and waiting
     * for its thread: however fast clients come, threads and descriptors stay within the limit.
     *
     * @return false when all are being answered, or nobody is let in any more
     */
    synchronized boolean add(Connection connection) {
        while (!closed) {
            if (all.size() < currentLimit()) {
                all.add(connection);
                connection.turn = ++turns;
                return true;
            }
            if (!someoneLeaves()) {
                Connection oldest = oldestIdle();
                if (oldest == null) {
                    return false;
                }
                oldest.close();
            }
            Threads.await(this, 1000);
        }
        return false;
    }

    /**
     * Lets no more connections in than there are now, for a while: the application has no thread for another.
     *
     * @return false when there are none, whose threads would serve the next ones
     */
    synchronized boolean limit() {
        if (all.isEmpty()) {
            return false;
        }
        limit = all.size();
        limitedAt = System.nanoTime();
        return true;
    }

    private int currentLimit() {
        if (limit < Limits.CONNECTIONS && System.nanoTime() - limitedAt > LIMITED_NANOS) {
            limit = Limits.CONNECTIONS;
        }
        return limit;
    }

    /** Called when a connection has ended and its thread serves the next one, or ends. */
    synchronized void remove(Connection connection) {
        all.remove(connection);
        notifyAll();
    }

    /** Before a request is answered; false if the connection had to give way. */
    synchronized boolean begin(Connection connection) {
        connection.busy = !connection.isClosed();
        connection.keptAlive = false;
        return connection.busy;
    }

    /** After it. */
    synchronized void end(Connection connection) {
        connection.busy = false;
        connection.keptAlive = true;
        connection.turn = ++turns;
    }

    /** Closes those whose client lets us wait for too long. */
    synchronized void closeLate() {
        for (Connection connection : all) {
            if (!connection.isClosed() && connection.isLate()) {
                connection.close();
            }
        }
    }

    /** Frees the descriptors of those that were answered and may or may not ask again. */
    synchronized void closeKeptAlive() {
        for (Connection connection : all) {
            if (connection.keptAlive) {
                connection.close();
            }
        }
    }

    /** Closes all, and lets nobody in any more. */
    synchronized void close() {
        closed = true;
        for (Connection connection : all) {
            connection.close();
        }
        notifyAll();
    }

    /** Waits until there are none, but no longer than this. */
    synchronized void awaitNone(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (!all.isEmpty() && System.nanoTime() < end) {
            Threads.await(this, 50);
        }
    }

    /** Reports whether one is closed already and only has to notice it. One that is inside a handler may take any time. */
    private boolean someoneLeaves() {
        for (Connection connection : all) {
            if (!connection.busy && connection.isClosed()) {
                return true;
            }
        }
        return false;
    }

    private Connection oldestIdle() {
        Connection oldest = null;
        for (Connection connection : all) {
            if (!connection.busy && (oldest == null || connection.turn < oldest.turn)) {
                oldest = connection;
            }
        }
        return oldest;
    }
}
