package com.banzaicloud.jmxexporter.collection;

import io.prometheus.metrics.model.snapshots.Labels;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Samples as bytes: what a garbage collection takes depends on the number of objects, and here there is one for hundreds
 * of samples. A record has the number of its label names, the values of the labels, the value, and the source. It does not
 * extend over two chunks. A string ends with a zero, and orders as its characters do, zeros aside.
 */
final class Records {

    private static final int BITS = 15;
    private static final int CHUNK = 1 << BITS;
    private static final int CONTINUED = 0x80;

    private byte[][] chunks = new byte[4][];
    private int last = -1;
    private int used = CHUNK;
    /** The record in the making. */
    private byte[] record = new byte[256];
    private int length;
    private int longest;
    private final List<String[]> labelNames = new ArrayList<>();
    private final Map<List<String>, Integer> numbers = new HashMap<>();
    /** The last source that a record has as a whole; further ones have what differs from it. */
    private String base = "";
    private int basePosition;
    private Labels lastLabels;
    private int lastNumber;

    /** Adds a text, and returns its position. */
    int add(String text) {
        length = 0;
        string(text, 0, text.length());
        return store();
    }

    /** The bytes of the longest record. */
    int longest() {
        return longest;
    }

    /**
     * Adds a record, and returns its position.
     *
     * @param source begins with the source
     * @param end where the source ends
     */
    int add(Labels labels, double value, String source, int end) {
        length = 0;
        number(numberOf(labels));
        for (int i = 0; i < labels.size(); i++) {
            string(labels.getValue(i), 0, labels.getValue(i).length());
        }
        long bits = Double.doubleToRawLongBits(value);
        for (int shift = 56; shift >= 0; shift -= 8) {
            octet((int) (bits >> shift));
        }
        int shared = shared(source, end);
        boolean whole = shared <= end / 2;
        number(whole ? 0 : shared);
        if (!whole) {
            number(basePosition);
        }
        string(source, whole ? 0 : shared, end);
        longest = Math.max(longest, length);
        int position = store();
        if (whole) {
            base = source.substring(0, end);
            basePosition = position;
        }
        return position;
    }

    private int numberOf(Labels labels) {
        if (lastLabels == null || !labels.hasSameNames(lastLabels)) {
            String[] names = new String[labels.size()];
            for (int i = 0; i < names.length; i++) {
                names[i] = labels.getName(i);
            }
            Integer number = numbers.get(Arrays.asList(names));
            if (number == null) {
                number = labelNames.size();
                labelNames.add(names);
                numbers.put(Arrays.asList(names), number);
            }
            lastNumber = number;
            lastLabels = labels;
        }
        return lastNumber;
    }

    private int shared(String source, int end) {
        int most = Math.min(end, base.length());
        int shared = 0;
        while (shared < most && source.charAt(shared) == base.charAt(shared)) {
            shared++;
        }
        return shared;
    }

    private int store() {
        if (length > CHUNK - used) {
            if (++last == chunks.length) {
                chunks = Arrays.copyOf(chunks, last * 2);
            }
            chunks[last] = new byte[Math.max(length, CHUNK)];
            used = 0;
        }
        int position = last << BITS | used;
        System.arraycopy(record, 0, chunks[last], used, length);
        used += length;
        return position;
    }

    private void octet(int octet) {
        if (length == record.length) {
            record = Arrays.copyOf(record, length * 2);
        }
        record[length++] = (byte) octet;
    }

    private void number(int number) {
        int rest = number;
        for (; rest >= CONTINUED; rest >>>= 7) {
            octet(rest | CONTINUED);
        }
        octet(rest);
    }

    /** Each character by itself, as in UTF-8; zero, as in Java's own variant, in two bytes. */
    private void string(String string, int from, int end) {
        for (int i = from; i < end; i++) {
            char c = string.charAt(i);
            if (c > 0 && c < 0x80) {
                octet(c);
            } else if (c < 0x800) {
                octet(0xc0 | c >> 6);
                octet(0x80 | c & 0x3f);
            } else {
                octet(0xe0 | c >> 12);
                octet(0x80 | c >> 6 & 0x3f);
                octet(0x80 | c & 0x3f);
            }
        }
        octet(0);
    }

    /** Sorts records by their labels as the library does; what has the same stays in its order. */
    void sort(int[] positions, int size) {
        sort(positions, new int[size], 0, size);
    }

    private void sort(int[] positions, int[] scratch, int from, int end) {
        if (end - from < 2) {
            return;
        }
        int middle = (from + end) >>> 1;
        sort(positions, scratch, from, middle);
        sort(positions, scratch, middle, end);
        if (compareLabels(positions[middle - 1], positions[middle]) <= 0) {
            return;
        }
        System.arraycopy(positions, from, scratch, from, end - from);
        int one = from;
        int two = middle;
        for (int i = from; i < end; i++) {
            boolean first = two == end || one < middle && compareLabels(scratch[one], scratch[two]) <= 0;
            positions[i] = first ? scratch[one++] : scratch[two++];
        }
    }

    /** Compares the labels of two records. It makes no objects, since a large metric is compared hundreds of thousands of times. */
    int compareLabels(int one, int two) {
        byte[] a = chunks[one >> BITS];
        byte[] b = chunks[two >> BITS];
        int i = one & CHUNK - 1;
        int j = two & CHUNK - 1;
        while (a[i] < 0 && a[i] == b[j]) { // The numbers of their names.
            i++;
            j++;
        }
        if (a[i] != b[j]) {
            return compare(labelNames.get(new Reader(one).number()), labelNames.get(new Reader(two).number()));
        }
        for (int left = labelNames.get(i == (one & CHUNK - 1) ? a[i] : new Reader(one).number()).length; left > 0;) {
            i++;
            j++;
            if (a[i] != b[j]) {
                return (a[i] & 0xff) - (b[j] & 0xff);
            }
            left -= a[i] == 0 ? 1 : 0;
        }
        return 0;
    }

    private static int compare(String[] names, String[] others) {
        for (int i = 0; i < names.length && i < others.length; i++) {
            int order = names[i].compareTo(others[i]);
            if (order != 0) {
                return order;
            }
        }
        return names.length - others.length;
    }

    /** Reads a record from its begin, in the order of its parts. */
    final class Reader {

        private final byte[] chunk;
        private int at;

        Reader(int position) {
            chunk = chunks[position >> BITS];
            at = position & CHUNK - 1;
        }

        Labels labels() {
            String[] names = labelNames.get(number());
            String[] values = new String[names.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = string();
            }
            return Labels.of(names, values);
        }

        void skipLabels() {
            for (int left = labelNames.get(number()).length; left > 0; left--) {
                while (octet() != 0) {
                    // To the end of the value.
                }
            }
        }

        /** Behind the labels. */
        double value() {
            long bits = 0;
            for (int i = 0; i < Long.BYTES; i++) {
                bits = bits << 8 | octet();
            }
            return Double.longBitsToDouble(bits);
        }

        /** Behind the value. */
        String source() {
            int shared = number();
            if (shared == 0) {
                return string();
            }
            Reader whole = new Reader(number());
            whole.skipLabels();
            whole.value();
            return whole.source().substring(0, shared) + string();
        }

        private int octet() {
            return chunk[at++] & 0xff;
        }

        private int number() {
            int number = 0;
            for (int shift = 0;; shift += 7) {
                int octet = octet();
                number |= (octet & CONTINUED - 1) << shift;
                if (octet < CONTINUED) {
                    return number;
                }
            }
        }

        String string() {
            int begin = at;
            while (chunk[at] > 0) {
                at++;
            }
            int ascii = at - begin;
            if (chunk[at] == 0) {
                at++;
                return new String(chunk, begin, ascii, StandardCharsets.ISO_8859_1);
            }
            StringBuilder string = new StringBuilder().append(new String(chunk, begin, ascii, StandardCharsets.ISO_8859_1));
            for (int octet = octet(); octet != 0; octet = octet()) {
                if (octet < 0x80) {
                    string.append((char) octet);
                } else if (octet < 0xe0) {
                    string.append((char) ((octet & 0x1f) << 6 | octet() & 0x3f));
                } else {
                    string.append((char) ((octet & 0xf) << 12 | (octet() & 0x3f) << 6 | octet() & 0x3f));
                }
            }
            return string.toString();
        }
    }
}
