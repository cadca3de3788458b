package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Serves HTTP on a port until it is closed. Two threads are always there: one accepts, the other waits for a connection.
 * Each connection has a thread while it lasts. No thread wakes up while there is nothing to do: late connections are
 * closed, and an accepting thread that died is replaced, by {@link #check}; the former also whenever a client connects
 * or sends a request.
 */
public final class HttpServer implements AutoCloseable {

    private static final long CLOSE_MILLIS = 1000;
    /** How long a new connection waits for the thread of one that is just ending, rather than have another one made. */
    private static final long READY_MILLIS = 20;
    private static final long MIN_BACKOFF_MILLIS = 50;
    private static final long MAX_BACKOFF_MILLIS = 1000;
    private static final byte[] FULL = ("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);

    private final Port port;
    private final Transport transport;
    private final Handler handler;
    private final Limits limits;
    private final Connections connections = new Connections();
    private final Workers workers = new Workers("jmx-exporter-http-", ClassLoader.getSystemClassLoader());
    private final Runnable accepting = new Runnable() {
        @Override
        public void run() {
            accept();
        }
    };
    private Thread acceptor;

    private HttpServer(Port port, Transport transport, Handler handler, Limits limits) {
        this.port = port;
        this.transport = transport;
        this.handler = handler;
        this.limits = limits;
    }

    /**
     * Opens the port.
     *
     * @throws java.net.BindException when it is taken, or the address is none of this machine's
     * @throws IOException when it cannot be opened otherwise
     */
    public static HttpServer open(InetSocketAddress address, Transport transport, Handler handler) throws IOException {
        return open(address, transport, handler, Limits.DEFAULT);
    }

    static HttpServer open(InetSocketAddress address, Transport transport, Handler handler, Limits limits) throws IOException {
        HttpServer server = new HttpServer(Port.open(address), transport, handler, limits);
        try {
            server.revive();
            server.workers.prepare();
            return server;
        } catch (Throwable t) { // No thread to be had, say: the port must not stay taken.
            server.close();
            throw t;
        }
    }

    /** Returns where it listens. */
    public InetSocketAddress address() {
        return port.address();
    }

    /**
     * Closes the port and every connection at once, and waits up to a second for handlers that are about to return.
     * No thread is interrupted: inside the application's code that would close the channels that it reads or writes.
     * A handler that is there comes out by itself, and its answer goes nowhere.
     */
    @Override
    public void close() {
        Thread last;
        synchronized (this) {
            port.close();
            last = acceptor;
            notifyAll();
        }
        connections.close();
        connections.awaitNone(CLOSE_MILLIS);
        workers.close(CLOSE_MILLIS);
        Threads.awaitEnd(last, CLOSE_MILLIS); // As long as it is inside accept, the kernel keeps the port taken.
    }

    Transport transport() {
        return transport;
    }

    Handler handler() {
        return handler;
    }

    Limits limits() {
        return limits;
    }

    /** To be called every second or more often. Allocates nothing if there is nothing to do, and throws nothing. */
    public void check() {
        try {
            connections.closeLate();
            revive();
        } catch (Throwable t) {
            // Out of memory, say: the next check may succeed.
        }
    }

    /** Starts the accepting thread, if it is not there. */
    private synchronized void revive() {
        if (port.isClosed()) {
            return;
        }
        if (acceptor != null && !acceptor.isAlive()) {
            acceptor = null;
            port.renew();
        }
        if (acceptor == null) {
            acceptor = Threads.start(accepting, "jmx-exporter-http", null);
        }
    }

    private void accept() {
        long backoff = 0;
        while (!port.isClosed()) {
            try {
                admit(port.accept());
                backoff = 0;
            } catch (Throwable t) { // No descriptor, memory or thread to be had: the application needs them more.
                backoff = Math.min(MAX_BACKOFF_MILLIS, Math.max(MIN_BACKOFF_MILLIS, backoff * 2));
                recover(backoff);
            }
        }
    }

    /** Throws nothing, so that the thread outlives what it recovers from. */
    private void recover(long millis) {
        try {
            connections.closeKeptAlive();
        } catch (Throwable t) {
            // Memory is still out.
        }
        try {
            pause(millis);
        } catch (Throwable t) {
            // Likewise.
        }
    }

    private void admit(Socket socket) throws IOException {
        Connection connection = null;
        boolean started = false;
        try {
            connection = new Connection(socket, this, connections);
            boolean room = true;
            while (room && !started && connections.add(connection)) {
                started = start(connection);
                if (!started) {
                    connections.remove(connection);
                    room = connections.closeIdle();
                }
            }
            if (!started) {
                refuse(socket);
            }
        } finally {
            if (!started) {
                try {
                    socket.close();
                } finally {
                    if (connection != null) {
                        connections.remove(connection);
                    }
                }
            }
        }
    }

    /** Serves a connection; reports false if there is no thread for it. */
    private boolean start(Connection connection) {
        workers.awaitReady(READY_MILLIS);
        try {
            workers.run(connection);
            return true;
        } catch (OutOfMemoryError e) {
            if (!Threads.areRefused()) {
                throw e;
            }
            return false;
        }
    }

    private static void refuse(Socket socket) {
        try {
            socket.getOutputStream().write(FULL); // Nothing was sent to it yet, so this does not block.
        } catch (IOException e) {
            // It did not wait for that.
        }
    }

    /** Ended by {@link #close}. */
    private synchronized void pause(long millis) {
        if (!port.isClosed()) {
            Threads.await(this, millis);
        }
    }
}
