package com.banzaicloud.jmxexporter.exporter;

import io.prometheus.jmx.JmxCollector;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** The exporter's configuration as it was read once; the file is not looked at again. */
final class Configuration {

    private static final Map<String, String> FORBIDDEN = forbidden();

    private final String path;
    private final String sha256;
    private final String text;
    private final Map<?, ?> yaml;

    private Configuration(String path, String sha256, String text, Map<?, ?> yaml) {
        this.path = path;
        this.sha256 = sha256;
        this.text = text;
        this.yaml = yaml;
    }

    private static Map<String, String> forbidden() {
        Map<String, String> why = new LinkedHashMap<>();
        why.put("hostPort", "the agent serves the JVM that it lives in, not a remote one");
        why.put("jmxUrl", why.get("hostPort"));
        why.put("httpServer", "the agent's endpoint has neither authentication nor TLS, and would leave open what this section means to protect");
        why.put("openTelemetry", "the agent serves Prometheus and pushes to nobody");
        return Collections.unmodifiableMap(why);
    }

    /** Reads it, if it is the file that is meant and asks for nothing that the agent does not do. */
    static Configuration read(String path, String sha256) throws Rejection {
        if (path == null) {
            throw Rejection.configuration("The desired file names no configuration: write config into it.");
        }
        byte[] content;
        try {
            content = Files.readAllBytes(Paths.get(path));
        } catch (IOException e) {
            throw Rejection.configuration("The configuration " + path + " cannot be read (" + e + "): stage it again, readable by the JVM's user.");
        }
        String actual = sha256(content);
        if (sha256 != null && !sha256.equals(actual)) {
            throw Rejection.configuration("The configuration " + path + " has the SHA-256 " + actual + " instead of " + sha256 + ": stage it again.");
        }
        String text = new String(content, StandardCharsets.UTF_8);
        Map<?, ?> yaml = parse(path, text);
        for (Map.Entry<String, String> key : FORBIDDEN.entrySet()) {
            if (yaml.containsKey(key.getKey())) {
                throw Rejection.configuration("The configuration has " + key.getKey() + ": remove it, since " + key.getValue() + ".");
            }
        }
        return new Configuration(path, actual, text, yaml);
    }

    private static Map<?, ?> parse(String path, String text) throws Rejection {
        Object yaml;
        try {
            yaml = new Yaml(new SafeConstructor(new LoaderOptions())).load(text);
        } catch (RuntimeException e) {
            throw Rejection.configuration("The configuration " + path + " is not YAML: " + e.getMessage());
        }
        if (yaml == null) {
            return Collections.emptyMap(); // An empty file means the default rules, as for the stock exporter.
        }
        if (!(yaml instanceof Map)) {
            throw Rejection.configuration("The configuration " + path + " is " + yaml.getClass().getSimpleName() + " instead of keys and values: begin it with rules:, for example.");
        }
        return (Map<?, ?>) yaml;
    }

    /** The rules, ready to collect. */
    JmxCollector collector() throws Rejection {
        try {
            return new JmxCollector(text);
        } catch (ClassCastException e) {
            throw Rejection.configuration("The configuration " + path + " has a value of the wrong type: " + types(e) + ".");
        } catch (Exception e) {
            throw Rejection.configuration("The configuration " + path + " is not accepted: " + e.getMessage());
        }
    }

    /** "Integer cannot be cast to List": the collector knows no more, and the packages and modules help nobody. */
    private static String types(ClassCastException e) {
        return String.valueOf(e.getMessage()).replaceAll("(class )?(\\w+\\.)+(\\w+)", "$3").replaceAll(" \\(.*", "");
    }

    boolean excludesJvmMetrics() {
        return Boolean.TRUE.equals(yaml.get("excludeJvmMetrics"));
    }

    String sha256() {
        return sha256;
    }

    /** Whether it was read from this path with this digest. */
    boolean is(String path, String sha256) {
        return this.path.equals(path) && this.sha256.equals(sha256);
    }

    private static String sha256(byte[] content) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(content)) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // Every Java has SHA-256.
        }
    }
}
