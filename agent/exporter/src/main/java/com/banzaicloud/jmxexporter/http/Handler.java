package com.banzaicloud.jmxexporter.http;

import java.io.IOException;

/** Answers requests, on several threads at once. */
public interface Handler {

    /**
     * Answers one request, with {@link Response#send} or {@link Response#start}. The answer is whole once this
     * method returns. If it throws, an answer that has begun is cut short so that the client notices, and one that
     * has not becomes a 500.
     *
     * @throws IOException when the client is gone, or took too long to read
     */
    void handle(Request request, Response response) throws IOException;
}
