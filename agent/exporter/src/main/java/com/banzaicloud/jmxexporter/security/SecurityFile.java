package com.banzaicloud.jmxexporter.security;

import com.banzaicloud.jmxexporter.agent.Refusal;
import com.banzaicloud.jmxexporter.agent.Sha256;
import com.banzaicloud.jmxexporter.agent.TrustedFile;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.Map;

/** What secures an endpoint, as it was read once: TLS always, client certificates and a password where they are given. */
public final class SecurityFile {

    private static final int LIMIT_BYTES = 1 << 20; // What the API server takes for a Secret.

    private final String path;
    private final String sha256;
    private final Tls tls;
    private final Password password;

    private SecurityFile(String path, String sha256, Tls tls, Password password) {
        this.path = path;
        this.sha256 = sha256;
        this.tls = tls;
        this.password = password;
    }

    /** Reads it, if it is the file that is meant. */
    public static SecurityFile read(String path, String sha256) throws InvalidSecurity {
        byte[] content;
        try {
            content = TrustedFile.read(Paths.get(path), LIMIT_BYTES);
        } catch (Refusal e) {
            throw new InvalidSecurity(e.getMessage());
        } catch (IOException e) {
            throw new InvalidSecurity("The security file " + path + " cannot be read (" + e.getClass().getSimpleName()
                    + "): stage it again, readable by the JVM's user alone.");
        }
        if (!Sha256.hex(content).equals(sha256)) {
            throw new InvalidSecurity("The security file " + path + " is not the one that was staged: stage it again.");
        }
        try {
            Map<String, String> pairs = pairs(new String(content, StandardCharsets.US_ASCII));
            return new SecurityFile(path, sha256, Tls.of(pairs), Password.of(pairs));
        } catch (GeneralSecurityException | RuntimeException e) { // Their messages may quote what they could not read.
            throw new InvalidSecurity("The Java runtime does not accept the certificate, the key or the password hash of " + path
                    + " (" + e.getClass().getSimpleName() + "): use an RSA key of 2048 bits or more, or an EC key on P-256, and a certificate for it.");
        }
    }

    private static Map<String, String> pairs(String text) throws InvalidSecurity {
        Map<String, String> pairs = new HashMap<>();
        for (String pair : text.split("&")) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                try {
                    pairs.put(pair.substring(0, equals), URLDecoder.decode(pair.substring(equals + 1), "UTF-8"));
                } catch (IOException e) {
                    throw new IllegalStateException(e); // Every Java has UTF-8.
                }
            }
        }
        return pairs;
    }

    Tls tls() {
        return tls;
    }

    /** Null if none is asked for. */
    Password password() {
        return password;
    }

    public String sha256() {
        return sha256;
    }

    /** Reports whether it was read from this path with this digest. */
    public boolean is(String path, String sha256) {
        return this.path.equals(path) && this.sha256.equals(sha256);
    }
}
