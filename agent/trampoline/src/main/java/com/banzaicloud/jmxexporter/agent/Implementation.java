package com.banzaicloud.jmxexporter.agent;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/** The exporter of one jar, in a class loader of its own. Dropped, it leaves nothing but what it itself still holds. */
final class Implementation {

    private static final String CLASS = "com.banzaicloud.jmxexporter.exporter.Exporter";
    private static final int LIMIT_BYTES = 16 << 20;

    private final String sha256;
    private final ClassLoader loader;
    private final Object exporter;

    private Implementation(String sha256, ClassLoader loader, Object exporter) {
        this.sha256 = sha256;
        this.loader = loader;
        this.exporter = exporter;
    }

    /** Loads it, if the jar is the one that is meant: the very bytes that have this digest. */
    static Implementation load(Path jar, String sha256) throws Exception {
        byte[] content = TrustedFile.read(jar, LIMIT_BYTES);
        String actual = Sha256.hex(content);
        if (!actual.equals(sha256)) {
            throw new Refusal(jar + " has the SHA-256 " + actual + " instead of " + sha256 + ": stage it again.");
        }
        ClassLoader loader;
        try {
            loader = new JarLoader(content, jar.toUri().toURL());
        } catch (IOException e) {
            throw new Refusal(jar + " cannot be loaded: " + e.getMessage() + " Stage another one.");
        }
        return new Implementation(sha256, loader, Class.forName(CLASS, true, loader).getConstructor().newInstance());
    }

    String sha256() {
        return sha256;
    }

    /** Tells it what is desired; what it starts inherits its class loader, the caller's thread does not keep it. */
    @SuppressWarnings("unchecked") // The protocol's promise; a broken one throws here.
    Map<String, String> apply(Map<String, String> desired) {
        Thread thread = Thread.currentThread();
        thread.setContextClassLoader(loader);
        try {
            return ((Function<Map<String, String>, Map<String, String>>) exporter).apply(desired);
        } finally {
            thread.setContextClassLoader(null);
        }
    }

    /** What it has to say since it was told last; empty when nothing, or when it never has. */
    @SuppressWarnings("unchecked") // As above.
    Map<String, String> notices() {
        Map<String, String> notices = exporter instanceof Supplier ? ((Supplier<Map<String, String>>) exporter).get() : null;
        return notices == null ? Collections.<String, String>emptyMap() : notices;
    }
}
