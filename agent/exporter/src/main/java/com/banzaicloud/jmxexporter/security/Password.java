package com.banzaicloud.jmxexporter.security;

import com.banzaicloud.jmxexporter.agent.Sha256;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Map;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** A user and the hash of a password, by the stock exporter's algorithms. To find out is dear, so it takes a {@linkplain Turns turn}. */
final class Password {

    /** What is known of credentials. */
    enum Verdict { RIGHT, WRONG, LATER }

    private static final int MAX_CHARACTERS = 1024;
    /** What one guess costs: a second or some of one CPU. */
    private static final int MAX_ITERATIONS = 2_000_000;
    private static final int MAX_HASH_BYTES = 64; // SHA-512's, the longest that the stock exporter derives.
    private static final int MAX_SALT_BYTES = 512;

    private final String username;
    private final byte[] hash;
    private final byte[] salt;
    private final int iterations;
    private final SecretKeyFactory factory;
    /** The credentials that were right last, so that a scrape costs no derivation. They stay in this object. */
    private volatile String right;

    private Password(String username, byte[] hash, byte[] salt, int iterations, SecretKeyFactory factory) {
        this.username = username;
        this.hash = hash;
        this.salt = salt;
        this.iterations = iterations;
        this.factory = factory;
    }

    /** Null if the pairs have none. */
    static Password of(Map<String, String> pairs) throws GeneralSecurityException, InvalidSecurity {
        if (!pairs.containsKey("username")) {
            return null;
        }
        for (String key : new String[] {"passwordHash", "salt", "algorithm", "iterations"}) {
            if (!pairs.containsKey(key)) {
                throw new InvalidSecurity("The security file has a username without " + key + ": write all of the password into it.");
            }
        }
        String algorithm = pairs.get("algorithm");
        if (!algorithm.matches("PBKDF2WithHmacSHA(1|256|512)")) {
            throw new InvalidSecurity("The algorithm of the security file is none of PBKDF2WithHmacSHA1, PBKDF2WithHmacSHA256 and PBKDF2WithHmacSHA512.");
        }
        return new Password(pairs.get("username"), bytes(pairs, "passwordHash", MAX_HASH_BYTES), bytes(pairs, "salt", MAX_SALT_BYTES),
                iterations(pairs.get("iterations")), SecretKeyFactory.getInstance(algorithm, Jdk.provider("SecretKeyFactory", algorithm)));
    }

    private static int iterations(String decimal) throws InvalidSecurity {
        int iterations = decimal.matches("[0-9]{1,7}") ? Integer.parseInt(decimal) : 0;
        if (iterations < 1 || iterations > MAX_ITERATIONS) {
            throw new InvalidSecurity("The iterations of the security file are not a number from 1 to " + MAX_ITERATIONS + ".");
        }
        return iterations;
    }

    private static byte[] bytes(Map<String, String> pairs, String key, int most) throws InvalidSecurity {
        String hex = pairs.get(key);
        if (!hex.matches("([0-9a-fA-F]{2}){1," + most + "}")) {
            throw new InvalidSecurity("The " + key + " of the security file is not 1 to " + most + " bytes in hexadecimal.");
        }
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    /** Judges the value of the field Authorization of a client. */
    Verdict judge(String authorization, InetAddress client, Turns turns) throws GeneralSecurityException {
        String credentials = credentials(authorization);
        if (credentials.indexOf(':') < 0) {
            return Verdict.WRONG;
        }
        String digest = Sha256.hex(credentials.getBytes(StandardCharsets.UTF_8));
        if (isRight(digest)) {
            return Verdict.RIGHT;
        }
        Turns.Turn turn = turns.await(client, digest);
        if (turn == null) {
            return Verdict.LATER;
        }
        boolean same = false;
        try {
            same = isRight(digest) || derive(credentials); // Somebody else may have been right meanwhile.
            if (same) {
                right = digest;
            }
        } finally {
            turns.end(turn, same);
        }
        return same ? Verdict.RIGHT : Verdict.WRONG;
    }

    /** The username and password of the field, with a colon between them; "" if there are none. */
    private static String credentials(String authorization) {
        if (authorization.length() > MAX_CHARACTERS || !authorization.regionMatches(true, 0, "Basic ", 0, 6)) {
            return "";
        }
        try {
            return new String(Base64.getDecoder().decode(authorization.substring(6).trim()), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    private boolean isRight(String digest) {
        String right = this.right;
        return right != null && equal(right, digest);
    }

    /** Derives the password whatever the username is: one that does not exist takes as long, and gets the same answers. */
    private boolean derive(String credentials) throws GeneralSecurityException {
        int colon = credentials.indexOf(':');
        PBEKeySpec spec = new PBEKeySpec(credentials.substring(colon + 1).toCharArray(), salt, iterations, hash.length * 8);
        boolean same = MessageDigest.isEqual(factory.generateSecret(spec).getEncoded(), hash);
        spec.clearPassword();
        return same & equal(credentials.substring(0, colon), username);
    }

    /** In a time that says nothing of where they differ. */
    private static boolean equal(String a, String b) {
        return MessageDigest.isEqual(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
    }
}
