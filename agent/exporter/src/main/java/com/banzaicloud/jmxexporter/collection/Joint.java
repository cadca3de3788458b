package com.banzaicloud.jmxexporter.collection;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Makes one text of several that the library has written, in both of its formats: leaves out the lines about a metric whose
 * samples continue, and all but the last end.
 */
final class Joint extends FilterOutputStream {

    private static final byte[] COMMENT = {'#', ' '};
    private static final byte[] END = {'#', ' ', 'E', 'O', 'F', '\n'};
    /** The column from which on a line that is no comment, or is known, goes on to its end. */
    private static final int REST = COMMENT.length + 1;

    /** Where in a line the next byte is. */
    private int column;
    private boolean dropped;
    private boolean continues;
    private boolean ended;

    Joint(OutputStream out) {
        super(out);
    }

    /** Begins the next text, with further samples of the last metric or not. */
    void next(boolean continues) {
        this.continues = continues;
    }

    /** Ends the whole as the library ends each. */
    void end() throws IOException {
        if (ended) {
            out.write(END);
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        int end = offset + length;
        for (int at = offset; at < end;) {
            if (column == 0 && bytes[at] != COMMENT[0]) {
                continues = false;
                column = REST;
            } else if (column < COMMENT.length) {
                column++;
                at++;
            } else if (column == COMMENT.length) {
                ended |= bytes[at] == END[COMMENT.length];
                dropped = continues || bytes[at] == END[COMMENT.length];
                if (!dropped) {
                    out.write(COMMENT);
                }
                column = REST;
            } else {
                at = rest(bytes, at, end);
            }
        }
    }

    /** Writes or drops what there is of a line, and of those that begin like samples behind it; returns where that ends. */
    private int rest(byte[] bytes, int from, int end) throws IOException {
        int at = from;
        while (at < end && bytes[at] != '\n') {
            at++;
        }
        int next = Math.min(at + 1, end);
        column = at < end ? 0 : REST;
        if (!dropped) {
            while (column == 0 && next < end && bytes[next] != COMMENT[0]) {
                continues = false;
                while (next < end && bytes[next] != '\n') {
                    next++;
                }
                column = next < end ? 0 : REST;
                next = Math.min(next + 1, end);
            }
            out.write(bytes, from, next - from);
        }
        dropped &= column == REST;
        return next;
    }
}
