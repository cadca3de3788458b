package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** Reads the requests of one connection, one after the other, through a buffer that does not grow. */
final class RequestReader {

    private final InputStream in;
    private final byte[] buffer = new byte[Limits.HEAD_BYTES];
    /** The bytes from start to end were read and belong to requests to come. */
    private int start;
    private int end;

    RequestReader(InputStream in) {
        this.in = in;
    }

    /** Waits for the next request to begin; false when the client has closed its side instead. */
    boolean await() throws IOException {
        return hasBytes() || fill();
    }

    /** Reports whether some of the next request is here. */
    boolean hasBytes() {
        return start < end;
    }

    /**
     * Reads the next request, and nothing of its body.
     *
     * @throws BadRequest for what is none, and what has no end within the buffer
     */
    Request read() throws IOException, BadRequest {
        System.arraycopy(buffer, start, buffer, 0, end - start);
        end -= start;
        start = 0;
        int head = 0;
        int line = 0;
        for (int at = 0; ; at++) {
            if (at == end) {
                more(line > head);
            }
            if (buffer[at] == '\n') {
                boolean empty = at == line || (at == line + 1 && buffer[line] == '\r');
                boolean first = line == head;
                line = at + 1;
                if (empty && first && head == 0) {
                    head = line; // Some clients end what they sent before with a line too many (RFC 9112, section 2.2).
                } else if (empty) {
                    start = line;
                    return RequestParser.parse(new String(buffer, head, start - head, StandardCharsets.ISO_8859_1));
                }
            }
        }
    }

    private void more(boolean inFields) throws IOException, BadRequest {
        if (end == buffer.length) {
            throw inFields
                    ? new BadRequest(431, "Request line and header fields are longer than " + buffer.length + " bytes.")
                    : new BadRequest(414, "The request line is longer than " + buffer.length + " bytes.");
        }
        if (!fill()) {
            throw new BadRequest(400, "The request ends before its header fields do.");
        }
    }

    /** Reads at least one byte behind what is there; false at the end of the stream. */
    private boolean fill() throws IOException {
        if (start == end) {
            start = 0;
            end = 0;
        }
        int read = in.read(buffer, end, buffer.length - end);
        if (read <= 0) {
            return false;
        }
        end += read;
        return true;
    }

    /** Reads and drops up to this many bytes, until the client closes its side. */
    void drain(int bytes) throws IOException {
        for (int left = bytes; left > 0; left -= end) {
            start = 0;
            end = 0;
            if (!fill()) {
                return;
            }
        }
    }
}
