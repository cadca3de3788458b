package com.banzaicloud.jmxexporter.agent;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import java.util.function.Function;

/** The exporter of one jar, in a class loader of its own that sees the platform and nothing of the application. */
final class Implementation {

    private static final String CLASS = "com.banzaicloud.jmxexporter.exporter.Exporter";

    private final String sha256;
    private final URLClassLoader loader;
    private final Function<Map<String, String>, Map<String, String>> exporter;

    private Implementation(String sha256, URLClassLoader loader, Function<Map<String, String>, Map<String, String>> exporter) {
        this.sha256 = sha256;
        this.loader = loader;
        this.exporter = exporter;
    }

    /** Loads it, if the jar is the one that is meant. */
    static Implementation load(Path jar, String sha256) throws Exception {
        String actual = sha256(jar);
        if (!actual.equals(sha256)) {
            throw new Refusal(jar + " has the SHA-256 " + actual + " instead of " + sha256 + ": stage it again.");
        }
        URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, platform());
        try {
            Object exporter = Class.forName(CLASS, true, loader).getConstructor().newInstance();
            return new Implementation(sha256, loader, function(exporter));
        } catch (Throwable t) {
            loader.close();
            throw t;
        }
    }

    String sha256() {
        return sha256;
    }

    /** Tells it what is desired; what it starts inherits its class loader, the caller's thread does not keep it. */
    Map<String, String> apply(Map<String, String> desired) {
        Thread thread = Thread.currentThread();
        thread.setContextClassLoader(loader);
        try {
            return exporter.apply(desired);
        } finally {
            thread.setContextClassLoader(null);
        }
    }

    void close() throws IOException {
        loader.close();
    }

    /** Below the application's loader: the platform's since Java 9, the extensions' before. */
    private static ClassLoader platform() {
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        while (loader.getParent() != null) {
            loader = loader.getParent();
        }
        return loader;
    }

    @SuppressWarnings("unchecked") // The protocol's promise; a broken one throws in apply.
    private static Function<Map<String, String>, Map<String, String>> function(Object exporter) {
        return (Function<Map<String, String>, Map<String, String>>) exporter;
    }

    private static String sha256(Path file) throws IOException, NoSuchAlgorithmException {
        StringBuilder hex = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file))) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }
}
