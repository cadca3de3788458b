package com.banzaicloud.jmxexporter.agent;

import java.util.Arrays;

/**
 * SHA-256 as FIPS 180-4 has it, section 6.2. The JDK's {@code MessageDigest} asks the security providers that the
 * application has configured, and so runs code of theirs; and the JDK's own loads 70 classes, of random numbers among
 * others. Compiled by C1, as in small containers, it is also slower than this. The exporter's jar carries a copy.
 */
public final class Sha256 {

    private static final int BLOCK = 64;
    private static final int[] CONSTANTS = new int[64];
    private static final int[] START = new int[8];

    private Sha256() {}

    /** Sections 4.2.2 and 5.3.3: the first 32 bits of the fractional parts of the roots of the first primes. */
    static {
        int found = 0;
        for (int n = 2; found < CONSTANTS.length; n++) {
            if (isPrime(n)) {
                if (found < START.length) {
                    START[found] = fraction(Math.sqrt(n));
                }
                CONSTANTS[found++] = fraction(StrictMath.cbrt(n));
            }
        }
    }

    private static boolean isPrime(int n) {
        for (int divisor = 2; divisor * divisor <= n; divisor++) {
            if (n % divisor == 0) {
                return false;
            }
        }
        return true;
    }

    private static int fraction(double root) {
        return (int) (long) ((root - (int) root) * (1L << 32));
    }

    /** Returns the digest in lower-case hexadecimal. */
    public static String hex(byte[] message) {
        int[] hash = START.clone();
        int[] schedule = new int[64];
        int at = 0;
        for (; at + BLOCK <= message.length; at += BLOCK) {
            add(message, at, hash, schedule);
        }
        byte[] rest = padded(message, at);
        for (at = 0; at < rest.length; at += BLOCK) {
            add(rest, at, hash, schedule);
        }
        StringBuilder hex = new StringBuilder();
        for (int word : hash) {
            for (int shift = 28; shift >= 0; shift -= 4) {
                hex.append(Character.forDigit(word >>> shift & 0xf, 16));
            }
        }
        return hex.toString();
    }

    /** Section 5.1.1: what is left from here, a bit, zeros, and how many bits the whole has. */
    private static byte[] padded(byte[] message, int from) {
        int length = message.length - from;
        byte[] rest = Arrays.copyOfRange(message, from, from + (length + 9 <= BLOCK ? BLOCK : 2 * BLOCK));
        rest[length] = (byte) 0x80;
        long bits = 8L * message.length;
        for (int i = 1; i <= 8; i++, bits >>>= 8) {
            rest[rest.length - i] = (byte) bits;
        }
        return rest;
    }

    private static void add(byte[] m, int at, int[] hash, int[] w) {
        for (int i = 0; i < 16; i++, at += 4) {
            w[i] = m[at] << 24 | (m[at + 1] & 0xff) << 16 | (m[at + 2] & 0xff) << 8 | m[at + 3] & 0xff;
        }
        for (int i = 16; i < w.length; i++) {
            int x = w[i - 15];
            int y = w[i - 2];
            w[i] = w[i - 16] + w[i - 7]
                    + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3)
                    + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
        }
        int a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7];
        for (int i = 0; i < w.length; i++) {
            int t = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + CONSTANTS[i] + w[i];
            int u = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c);
            h = g;
            g = f;
            f = e;
            e = d + t;
            d = c;
            c = b;
            b = a;
            a = t + u;
        }
        hash[0] += a;
        hash[1] += b;
        hash[2] += c;
        hash[3] += d;
        hash[4] += e;
        hash[5] += f;
        hash[6] += g;
        hash[7] += h;
    }
}
