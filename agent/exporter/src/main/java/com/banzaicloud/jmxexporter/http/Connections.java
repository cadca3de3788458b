package com.banzaicloud.jmxexporter.http;

import java.util.ArrayList;
import java.util.List;

/** The connections that there are: a bounded number, of which those that wait for their client give way to new ones. */
final class Connections {

    private final List<Connection> all = new ArrayList<>(Limits.CONNECTIONS);
    private long turns;
    private boolean closed;

    /**
     * Makes room for a new connection, if need be by closing idle ones: however fast clients come, threads and
     * descriptors stay within the limit.
     *
     * @return false when all are being answered, or nobody is let in any more
     */
    synchronized boolean add(Connection connection) {
        closeLate();
        while (all.size() >= Limits.CONNECTIONS) {
            if (!closeIdle()) {
                return false;
            }
        }
        if (closed) {
            return false;
        }
        all.add(connection);
        connection.turn = ++turns;
        return true;
    }

    /**
     * Closes the connection that is idle for the longest time, unless one is ending already, and waits until it has
     * ended, or a moment. Its thread is ready for another then.
     *
     * @return false when none is idle, or all are closed
     */
    synchronized boolean closeIdle() {
        if (closed) {
            return false;
        }
        if (!someoneLeaves()) {
            Connection oldest = oldestIdle();
            if (oldest == null) {
                return false;
            }
            oldest.close();
        }
        Threads.await(this, 1000);
        return true;
    }

    /** Called when a connection has ended and its thread serves the next one, or ends. */
    synchronized void remove(Connection connection) {
        all.remove(connection);
        notifyAll();
    }

    /** Before a request is answered; false if the connection had to give way. */
    synchronized boolean begin(Connection connection) {
        closeLate();
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
        for (int i = 0; i < all.size(); i++) { // An iterator would be garbage twice a second.
            Connection connection = all.get(i);
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
