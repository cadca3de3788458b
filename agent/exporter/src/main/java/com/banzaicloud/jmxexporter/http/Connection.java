package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** One connection on a thread of its own: requests are read and answered in turn, until either side has enough. */
final class Connection implements Workers.Task {

    private static final long NEVER = Long.MAX_VALUE;
    /** For the client to read a refusal before what it still sends makes the kernel reset the connection. */
    private static final long DRAIN_MILLIS = 2000;
    private static final int DRAIN_BYTES = 1 << 20;

    private final Socket accepted;
    private final HttpServer server;
    private final Connections connections;
    private Socket socket;
    private RequestReader reader;
    private OutputStream out;

    /** When the thread's present wait for the client is over; {@link Connections} closes what is late. */
    private volatile long deadline;
    private volatile boolean closed;
    /** Whether a request is being answered; guarded by the connections. */
    boolean busy;
    /** Whether it waits for another request after one that was answered; guarded by the connections. */
    boolean keptAlive;
    /** Which of two waits longer; guarded by the connections. */
    long turn;

    Connection(Socket accepted, HttpServer server, Connections connections) {
        this.accepted = accepted;
        this.server = server;
        this.connections = connections;
        limit(server.limits().requestMillis);
    }

    @Override
    public void run() {
        try {
            socket = server.transport().open(accepted);
            socket.setTcpNoDelay(true);
            reader = new RequestReader(socket.getInputStream());
            out = socket.getOutputStream();
            serve();
            sayGoodbye();
        } catch (Throwable t) {
            // The client is gone, or memory is: it costs this connection and no other.
        } finally {
            close();
        }
    }

    @Override
    public void done() {
        connections.remove(this);
    }

    private void serve() throws IOException {
        for (int left = Limits.REQUESTS; reader.await(); ) {
            limit(server.limits().requestMillis);
            Request request;
            try {
                request = reader.read();
            } catch (BadRequest e) {
                limit(DRAIN_MILLIS);
                refuse(e);
                return;
            }
            if (!connections.begin(this)) {
                return;
            }
            limit(NEVER);
            Response response = new Response(this, out, request, request.keepsAlive() && --left > 0);
            boolean whole = answer(request, response);
            limit(server.limits().idleMillis);
            connections.end(this);
            if (!whole) {
                closed = true;
                accepted.setSoLinger(true, 0); // A reset shows that the answer is not whole, where its framing does not.
                return;
            }
            if (!response.keepsAlive()) {
                if (request.hasBody()) {
                    drain();
                }
                return;
            }
        }
    }

    /** Answers the request; false if the client must not believe in what it got. */
    private boolean answer(Request request, Response response) throws IOException {
        try {
            server.handler().handle(request, response);
            response.finish();
        } catch (Throwable t) {
            if (response.hasBegun()) {
                return false;
            }
            response.say(500, "The request failed.");
        }
        return response.hasBegun();
    }

    private void refuse(BadRequest e) throws IOException {
        new Response(this, out).say(e.status(), e.getMessage());
        drain();
    }

    private void drain() throws IOException {
        limit(DRAIN_MILLIS);
        if (isSecured()) {
            return; // Java 8 cannot close one direction of TLS.
        }
        socket.shutdownOutput();
        reader.drain(DRAIN_BYTES);
    }

    /** With TLS, the client learns so that the answer was cut short by nobody. */
    private void sayGoodbye() throws IOException {
        if (isSecured() && !closed) {
            limit(DRAIN_MILLIS);
            socket.close();
        }
    }

    private boolean isSecured() {
        return socket != accepted;
    }

    /** Called by the answer when its first byte is sent. */
    void limitAnswer() {
        limit(server.limits().answerMillis);
    }

    Socket socket() {
        return socket;
    }

    /** As {@link Response#clientGone}; no other thread reads while one answers. */
    boolean clientGone() {
        if (closed) {
            return true;
        }
        if (reader.hasBytes() || isSecured()) { // A read of TLS that times out midway ends it, on some versions of Java.
            return false;
        }
        try {
            socket.setSoTimeout(1);
            try {
                return !reader.await();
            } catch (SocketTimeoutException e) {
                return false;
            } finally {
                socket.setSoTimeout(0);
            }
        } catch (IOException e) {
            return true;
        }
    }

    private void limit(long millis) {
        deadline = millis == NEVER ? NEVER : now() + millis;
    }

    boolean isLate() {
        return now() > deadline;
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }

    boolean isClosed() {
        return closed;
    }

    /** From any thread; ends what its own one waits for. The accepted socket: a secured one might still have to say goodbye. */
    void close() {
        closed = true;
        try {
            accepted.close();
        } catch (IOException e) {
            // It is as closed as it can be.
        }
    }
}
