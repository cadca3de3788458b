package com.banzaicloud.jmxexporter.http;

/** The connections that there are: a bounded number, of which those that wait for their client give way to new ones. */
final class Connections {

    private final Connection[] all = new Connection[Limits.CONNECTIONS];
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
            int free = indexOf(null);
            if (free >= 0) {
                all[free] = connection;
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

    /** Called by a connection's thread when it ends. */
    synchronized void remove(Connection connection) {
        int index = indexOf(connection);
        if (index >= 0) {
            all[index] = null;
        }
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
            if (connection != null && !connection.isClosed() && connection.isLate()) {
                connection.close();
            }
        }
    }

    /** Frees the descriptors of those that were answered and may or may not ask again. */
    synchronized void closeKeptAlive() {
        for (Connection connection : all) {
            if (connection != null && connection.keptAlive) {
                connection.close();
            }
        }
    }

    /** Closes all, and lets nobody in any more. */
    synchronized void close() {
        closed = true;
        for (Connection connection : all) {
            if (connection != null) {
                connection.close();
            }
        }
        notifyAll();
    }

    /** Waits until there are none, but no longer than this. */
    synchronized void awaitNone(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (isAny() && System.nanoTime() < end) {
            Threads.await(this, 50);
        }
    }

    private boolean isAny() {
        for (Connection connection : all) {
            if (connection != null) {
                return true;
            }
        }
        return false;
    }

    private int indexOf(Connection connection) {
        for (int i = 0; i < all.length; i++) {
            if (all[i] == connection) {
                return i;
            }
        }
        return -1;
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
