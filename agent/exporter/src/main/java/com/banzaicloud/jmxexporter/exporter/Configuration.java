package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.agent.Refusal;
import com.banzaicloud.jmxexporter.agent.Sha256;
import com.banzaicloud.jmxexporter.agent.TrustedFile;
import com.banzaicloud.jmxexporter.rules.Rules;
import io.prometheus.jmx.JmxCollector;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Map;

/** The exporter's configuration as it was read once; the file is not read again. */
final class Configuration {

    /** The operator accepts no more, since each pod gets a copy. */
    static final int LIMIT_BYTES = 256 << 10;
    private static final String DELAY = "startDelaySeconds";

    private final String path;
    private final String sha256;
    private final Map<?, ?> yaml;

    private Configuration(String path, String sha256, Map<?, ?> yaml) {
        this.path = path;
        this.sha256 = sha256;
        this.yaml = yaml;
    }

    /** Reads it, if it is the file that is meant and asks for nothing that the agent does not do. */
    static Configuration read(String path, String sha256) throws Rejection {
        if (path == null) {
            throw Rejection.configuration("The desired file names no configuration: write config into it.");
        }
        byte[] content;
        try {
            content = TrustedFile.read(Paths.get(path), LIMIT_BYTES); // A FIFO in its place would hold up the watcher.
        } catch (Refusal e) {
            throw Rejection.configuration(e.getMessage());
        } catch (IOException e) {
            throw Rejection.configuration("The configuration " + path + " cannot be read (" + e + "): stage it again, readable by the JVM's user.");
        }
        String actual = Sha256.hex(content);
        if (sha256 != null && !sha256.equals(actual)) {
            throw Rejection.configuration("The configuration " + path + " has the SHA-256 " + actual + " instead of " + sha256 + ": stage it again.");
        }
        Map<?, ?> yaml = parse(path, new String(content, StandardCharsets.UTF_8));
        Keys.check(yaml);
        return new Configuration(path, actual, yaml);
    }

    private static Map<?, ?> parse(String path, String text) throws Rejection {
        Object yaml;
        try {
            yaml = KnownKeysComposer.load(text);
        } catch (BoundedParser.TooLarge e) {
            throw Rejection.configuration("The configuration " + path + " is too large: " + e.getMessage());
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

    /** The rules, not used before. */
    Rules rules() {
        return new Rules(yaml);
    }

    /** What collects by these rules. */
    JmxCollector collector(Rules rules) throws Rejection {
        try {
            return rules.collector();
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

    /** Has it collect without the delay that it asks for at a start; a value that is none stays, to be rejected. */
    void startAtOnce() {
        if (yaml.get(DELAY) instanceof Integer) {
            yaml.remove(DELAY);
        }
    }

    boolean excludesJvmMetrics() {
        return Boolean.TRUE.equals(yaml.get("excludeJvmMetrics"));
    }

    String sha256() {
        return sha256;
    }

    /** Reports whether it was read from this path with this digest. */
    boolean is(String path, String sha256) {
        return this.path.equals(path) && this.sha256.equals(sha256);
    }
}
