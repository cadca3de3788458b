package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.io.OutputStream;

/**
 * The body of a streamed answer, in a buffer that does not grow: in chunks for HTTP/1.1, as it is for HTTP/1.0. Closing
 * it sends what it holds, but does not end the answer: who closes a stream because something failed would make half
 * an answer look whole.
 */
final class AnswerStream extends OutputStream {

    /** Before the content: its length in hexadecimal and a line break. */
    private static final int FRAME = 6;
    private static final byte[] LAST = {'0', '\r', '\n', '\r', '\n'};

    private final OutputStream out;
    private final boolean chunked;
    private final byte[] buffer = new byte[FRAME + Limits.CHUNK_BYTES + 2];
    private int end = FRAME;

    AnswerStream(OutputStream out, boolean chunked) {
        this.out = out;
        this.chunked = chunked;
    }

    @Override
    public void write(int b) throws IOException {
        if (end == FRAME + Limits.CHUNK_BYTES) {
            flush();
        }
        buffer[end++] = (byte) b;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        int from = offset;
        int left = length;
        while (left > 0) {
            if (end == FRAME + Limits.CHUNK_BYTES) {
                flush();
            }
            int some = Math.min(left, FRAME + Limits.CHUNK_BYTES - end);
            System.arraycopy(bytes, from, buffer, end, some);
            end += some;
            from += some;
            left -= some;
        }
    }

    /** Sends what is held back. */
    @Override
    public void flush() throws IOException {
        int length = end - FRAME;
        if (length == 0) {
            return; // An empty chunk would be the last one.
        }
        end = FRAME;
        if (!chunked) {
            out.write(buffer, FRAME, length);
            return;
        }
        int begin = FRAME;
        buffer[--begin] = '\n';
        buffer[--begin] = '\r';
        for (int rest = length; rest > 0; rest >>= 4) {
            buffer[--begin] = (byte) Character.forDigit(rest & 15, 16);
        }
        buffer[FRAME + length] = '\r';
        buffer[FRAME + length + 1] = '\n';
        out.write(buffer, begin, FRAME + length + 2 - begin);
    }

    @Override
    public void close() throws IOException {
        flush();
    }

    /** Ends the answer. */
    void finish() throws IOException {
        flush();
        if (chunked) {
            out.write(LAST);
        }
    }
}
