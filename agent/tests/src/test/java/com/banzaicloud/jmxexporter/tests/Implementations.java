package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import javax.tools.ToolProvider;

/** Implementations that a test makes up. */
final class Implementations {

    private static final String NAME = "com/banzaicloud/jmxexporter/exporter/Exporter.class";

    private Implementations() {}

    /** The exporter of this build in a jar with another digest. */
    static Path another(Jvm jvm) throws IOException {
        Path jar = jvm.desiredFile().resolveSibling("another.jar");
        try (ZipFile build = new ZipFile(Jvm.EXPORTER.toFile()); ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            out.setComment("another");
            for (ZipEntry entry : Collections.list(build.entries())) {
                out.putNextEntry(new ZipEntry(entry.getName()));
                build.getInputStream(entry).transferTo(out);
            }
        }
        return jar;
    }

    /** A jar with an exporter whose apply has this body, and with this Supplier's method. */
    static Path compile(Jvm jvm, String body, String get) throws IOException {
        return compile(Files.createDirectories(jvm.desiredFile().resolveSibling("implementation")), body, get);
    }

    static Path compile(Path directory, String body, String get) throws IOException {
        String source = "package com.banzaicloud.jmxexporter.exporter; import java.util.*; import java.util.function.*;"
                + "public class Exporter implements Function<Map<String, String>, Map<String, String>>, Supplier<Map<String, String>> {"
                + "  public Map<String, String> apply(Map<String, String> desired) {"
                + "    Map<String, String> answer = new HashMap<>();" + body
                + (body.startsWith("throw") ? "" : "return answer;") + "}" + get + "}";
        Path java = Files.writeString(directory.resolve("Exporter.java"), source);
        int result = ToolProvider.getSystemJavaCompiler().run(null, null, null, "--release", "8", "-Xlint:-options", "-d", directory.toString(), java.toString());
        assertEquals(0, result, source);
        Path jar = directory.resolve("exporter.jar");
        try (OutputStream file = Files.newOutputStream(jar); JarOutputStream out = new JarOutputStream(file)) {
            out.putNextEntry(new JarEntry(NAME));
            Files.copy(directory.resolve(NAME), out);
        }
        return jar;
    }
}
