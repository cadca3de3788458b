package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** The answer to one request: header fields, then one of {@link #send} and {@link #start}. Used by one thread. */
public final class Response {

    /** Takes what an answer to HEAD would have been. */
    private static final class Nowhere extends OutputStream {
        @Override
        public void write(int b) {}

        @Override
        public void write(byte[] bytes, int offset, int length) {}
    }

    private final Connection connection;
    private final OutputStream out;
    private final boolean http11;
    private final boolean headOnly;
    private final StringBuilder fields = new StringBuilder();
    /** Whether the client learns where the answer ends, and may ask again on the connection. */
    private boolean keepsAlive;
    private boolean begun;
    private AnswerStream stream;

    /** To a request; it is the connection's last one if keepsAlive is false. */
    Response(Connection connection, OutputStream out, Request request, boolean keepsAlive) {
        this(connection, out, request.isHttp11(), request.isHead(), keepsAlive);
    }

    /** To something that was not understood, and ends the connection. */
    Response(Connection connection, OutputStream out) {
        this(connection, out, true, false, false);
    }

    private Response(Connection connection, OutputStream out, boolean http11, boolean headOnly, boolean keepsAlive) {
        this.connection = connection;
        this.out = out;
        this.http11 = http11;
        this.headOnly = headOnly;
        this.keepsAlive = keepsAlive;
    }

    /**
     * Adds a header field. Date, Connection and what says how long the answer is are there by themselves.
     *
     * @throws IllegalArgumentException for a line break in it, which would begin another field
     */
    public void header(String name, String value) {
        if ((name + value).indexOf('\r') >= 0 || (name + value).indexOf('\n') >= 0) {
            throw new IllegalArgumentException("A header field has a line break in it.");
        }
        fields.append(name).append(": ").append(value).append("\r\n");
    }

    /**
     * Begins an answer whose length is not known, and returns the stream for it: chunked for HTTP/1.1, ended by the
     * end of the connection for HTTP/1.0, with a bounded buffer. For HEAD, what is written goes nowhere. Closing the
     * stream is allowed and ends nothing: the answer ends when the handler returns.
     *
     * @throws IOException when the client is gone
     */
    public OutputStream start(int status) throws IOException {
        begin();
        if (!http11) {
            keepsAlive = false;
        }
        boolean chunked = http11 && !headOnly;
        out.write(head(status, chunked ? "Transfer-Encoding: chunked\r\n" : ""));
        if (headOnly) {
            return new Nowhere();
        }
        stream = new AnswerStream(out, chunked);
        return stream;
    }

    /**
     * Sends a whole answer with its length; for HEAD, all but the body.
     *
     * @throws IOException when the client is gone
     */
    public void send(int status, byte[] body) throws IOException {
        begin();
        byte[] head = head(status, "Content-Length: " + body.length + "\r\n");
        if (headOnly) {
            out.write(head);
            return;
        }
        byte[] whole = new byte[head.length + body.length]; // One packet where it fits.
        System.arraycopy(head, 0, whole, 0, head.length);
        System.arraycopy(body, 0, whole, head.length, body.length);
        out.write(whole);
    }

    /** Returns the socket that HTTP is spoken on: what the transport opened. */
    public Socket socket() {
        return connection.socket();
    }

    /** Makes this the last answer of its connection. */
    public void endConnection() {
        keepsAlive = false;
    }

    /**
     * Reports whether the client has closed its connection, so that nobody would read the answer. One that has closed
     * only its own direction counts as gone, since it cannot be told apart. May take a millisecond.
     */
    public boolean clientGone() {
        return connection.clientGone();
    }

    /** Sends a sentence of the server's own. */
    void say(int status, String sentence) throws IOException {
        fields.setLength(0);
        header("Content-Type", "text/plain; charset=utf-8");
        send(status, (sentence + "\n").getBytes(StandardCharsets.UTF_8));
    }

    boolean hasBegun() {
        return begun;
    }

    /** Ends the answer, once the handler has returned. */
    void finish() throws IOException {
        if (stream != null) {
            stream.finish();
        }
    }

    /** Reports whether another request may follow. */
    boolean keepsAlive() {
        return keepsAlive;
    }

    private void begin() {
        if (begun) {
            throw new IllegalStateException("The answer has begun already.");
        }
        begun = true;
        connection.limitAnswer();
    }

    private byte[] head(int status, String length) {
        StringBuilder head = new StringBuilder(256);
        head.append("HTTP/1.1 ").append(status).append(' ').append(phrase(status)).append("\r\n");
        head.append("Date: ").append(HttpDate.format(System.currentTimeMillis())).append("\r\n");
        head.append(fields).append(length);
        if (!keepsAlive) {
            head.append("Connection: close\r\n");
        } else if (!http11) {
            head.append("Connection: keep-alive\r\n");
        }
        return head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String phrase(int status) {
        switch (status) {
            case 200:
                return "OK";
            case 400:
                return "Bad Request";
            case 401:
                return "Unauthorized";
            case 403:
                return "Forbidden";
            case 404:
                return "Not Found";
            case 405:
                return "Method Not Allowed";
            case 414:
                return "URI Too Long";
            case 431:
                return "Request Header Fields Too Large";
            case 500:
                return "Internal Server Error";
            case 503:
                return "Service Unavailable";
            case 505:
                return "HTTP Version Not Supported";
            default:
                return ""; // It may be left out.
        }
    }
}
