package com.banzaicloud.jmxexporter.tests;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;

/** A desired file in the making; every one has a token of its own. */
final class Desired {

    private final Map<String, String> pairs = new TreeMap<>();

    private Desired(String state) {
        pairs.put("protocol", "1");
        pairs.put("state", state);
        pairs.put("token", UUID.randomUUID().toString());
    }

    static Desired stopped() {
        return new Desired("stopped");
    }

    /** To serve this configuration with the exporter of this build. */
    static Desired running(int port, Path config) {
        return new Desired("running").with("port", String.valueOf(port)).config(config).implementation(Jvm.EXPORTER);
    }

    Desired implementation(Path jar) {
        return with("implementation", jar.toString()).with("implementation.sha256", sha256(jar));
    }

    Desired config(Path file) {
        return with("config", file.toString()).with("config.sha256", sha256(file));
    }

    /** Sets a pair, or removes it when the value is null. */
    Desired with(String key, String value) {
        if (value == null) {
            pairs.remove(key);
        } else {
            pairs.put(key, value);
        }
        return this;
    }

    String token() {
        return pairs.get("token");
    }

    /** As the helper does it: under another name, then renamed. */
    void write(Path file) throws IOException {
        String line = pairs.entrySet().stream()
                .map(pair -> pair.getKey() + "=" + URLEncoder.encode(pair.getValue(), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&"));
        Path temporary = file.resolveSibling(file.getFileName() + ".tmp");
        Files.writeString(temporary, line);
        Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    }

    static String sha256(Path file) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (IOException | NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
