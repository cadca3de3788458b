package com.banzaicloud.jmxexporter.http;

/** What clients may take from the application; docs/agent.md has them as a table. */
final class Limits {

    /** Connections, and so threads that answer. Prometheus, the operator and people need two or three. */
    static final int CONNECTIONS = 16;
    /** Bytes of a request line with its header fields. */
    static final int HEAD_BYTES = 8 * 1024;
    /** Requests on one connection. */
    static final int REQUESTS = 1000;
    /** Bytes that are held back until they make a chunk of a streamed answer. */
    static final int CHUNK_BYTES = 8 * 1024;

    static final Limits DEFAULT = new Limits(10_000, 75_000, 15_000);

    /** For the first request to arrive on a new connection, and for each once it has begun. */
    final long requestMillis;
    /** Between two requests: more than a minute, since that is how often Prometheus asks by default. */
    final long idleMillis;
    /** From the first byte of an answer to its last. */
    final long answerMillis;

    Limits(long requestMillis, long idleMillis, long answerMillis) {
        this.requestMillis = requestMillis;
        this.idleMillis = idleMillis;
        this.answerMillis = answerMillis;
    }
}
