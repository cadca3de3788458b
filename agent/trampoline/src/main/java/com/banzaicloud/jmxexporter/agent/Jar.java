package com.banzaicloud.jmxexporter.agent;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * A jar in memory. The JDK reads one from a path, where another one may lie by then, or from its beginning to its end
 * and so inflates all of it onto the application's heap; this one inflates what it is asked for. Of the format
 * (PKWARE's APPNOTE.TXT, 4.3) it knows what jars use: no ZIP64, no encryption.
 */
final class Jar {

    private static final int END = 0x06054b50; // End of central directory record, 22 bytes and a comment.
    private static final int ENTRY = 0x02014b50; // Central directory file header, 46 bytes and what follows.
    private static final int STORED = 0;
    private static final int DEFLATED = 8;
    private static final int LIMIT_BYTES = 16 << 20; // Of one entry, inflated.

    private final ByteBuffer bytes;
    /** Where in the central directory an entry's header is. */
    private final Map<String, Integer> headers = new HashMap<>();

    Jar(byte[] content) throws IOException {
        bytes = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
        try {
            index();
        } catch (RuntimeException e) { // An offset or size that leads out of it.
            throw new IOException("The jar is broken (" + e + ").");
        }
    }

    private void index() throws IOException {
        int end = bytes.limit() - 22;
        while (end >= 0 && bytes.getInt(end) != END) {
            end--;
        }
        if (end < 0) {
            throw new IOException("The file is no jar: it has no directory at its end.");
        }
        int header = bytes.getInt(end + 16);
        for (int entries = bytes.getShort(end + 10) & 0xffff; entries > 0; entries--) {
            if (bytes.getInt(header) != ENTRY) {
                throw new IOException("The jar is broken: its directory is.");
            }
            byte[] name = new byte[bytes.getShort(header + 28) & 0xffff];
            slice(header + 46, name.length).get(name);
            headers.put(new String(name, StandardCharsets.UTF_8), header);
            header += 46 + name.length + (bytes.getShort(header + 30) & 0xffff) + (bytes.getShort(header + 32) & 0xffff);
        }
    }

    /** The content of an entry; null if there is none of this name. */
    byte[] entry(String name) throws IOException {
        Integer header = headers.get(name);
        if (header == null) {
            return null;
        }
        try {
            return content(header);
        } catch (RuntimeException | DataFormatException e) {
            throw new IOException("The jar's " + name + " is broken (" + e + ").");
        }
    }

    private byte[] content(int header) throws IOException, DataFormatException {
        int method = bytes.getShort(header + 10);
        byte[] compressed = new byte[size(header + 20, bytes.limit())];
        int local = bytes.getInt(header + 42);
        slice(local + 30 + (bytes.getShort(local + 26) & 0xffff) + (bytes.getShort(local + 28) & 0xffff), compressed.length).get(compressed);
        if (method == STORED) {
            return compressed;
        }
        if (method != DEFLATED) {
            throw new IOException("The jar is compressed by method " + method + ".");
        }
        byte[] content = new byte[size(header + 24, LIMIT_BYTES)];
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(compressed);
            for (int done = 0; done < content.length; ) {
                int n = inflater.inflate(content, done, content.length - done);
                if (n == 0) {
                    throw new DataFormatException("it ends early");
                }
                done += n;
            }
            return content;
        } finally {
            inflater.end();
        }
    }

    /** A size that is none would take the application's memory. */
    private int size(int offset, int limit) throws IOException {
        int size = bytes.getInt(offset);
        if (size < 0 || size > limit) {
            throw new IOException("The jar is broken: it has an entry of " + size + " bytes.");
        }
        return size;
    }

    /** Another view, so that threads do not share a position. */
    private ByteBuffer slice(int offset, int length) {
        ByteBuffer view = bytes.duplicate();
        view.position(offset);
        view.limit(offset + length);
        return view;
    }
}
