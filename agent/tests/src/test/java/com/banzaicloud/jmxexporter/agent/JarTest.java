package com.banzaicloud.jmxexporter.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jars in memory, beside the JDK's own reading of them. */
class JarTest {

    private static final Path JARS = Path.of(System.getProperty("jars"));

    @ParameterizedTest
    @ValueSource(strings = {"agent.jar", "exporter.jar", "stock.jar"})
    void readsWhatTheJdkReads(String name) throws IOException {
        Jar jar = new Jar(Files.readAllBytes(JARS.resolve(name)));
        try (ZipFile expected = new ZipFile(JARS.resolve(name).toFile())) {
            assertTrue(expected.size() > 5);
            for (ZipEntry entry : Collections.list(expected.entries())) {
                assertArrayEquals(expected.getInputStream(entry).readAllBytes(), jar.entry(entry.getName()), entry.getName());
            }
        }
        assertNull(jar.entry("no/such/entry"));
    }

    @Test
    void readsWhatIsStored() throws IOException {
        byte[] content = "stored, not compressed".getBytes();
        assertArrayEquals(content, new Jar(stored(content, "and a comment at the end")).entry("entry"));
    }

    /** What is broken is said so: nothing else is thrown, and nothing hangs. */
    @Test
    void brokenJarsAreRefused() throws IOException {
        byte[] whole = stored(new byte[64], "");
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(IOException.class, () -> new Jar(cut), "cut to " + length);
        }
        Random random = new Random(1);
        byte[] deflated = Files.readAllBytes(JARS.resolve("agent.jar"));
        for (int round = 0; round < 2000; round++) {
            byte[] broken = deflated.clone();
            for (int i = random.nextInt(4); i >= 0; i--) {
                broken[broken.length - 1 - random.nextInt(2000)] = (byte) random.nextInt(256); // The directory is at the end.
            }
            try {
                Jar jar = new Jar(broken);
                jar.entry("com/banzaicloud/jmxexporter/agent/Agent.class");
            } catch (IOException e) {
                assertTrue(e.getMessage().contains("jar"), e.getMessage());
            }
        }
    }

    private static byte[] stored(byte[] content, String comment) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            ZipEntry entry = new ZipEntry("entry");
            entry.setMethod(ZipEntry.STORED);
            entry.setSize(content.length);
            CRC32 crc = new CRC32();
            crc.update(content);
            entry.setCrc(crc.getValue());
            out.putNextEntry(entry);
            out.write(content);
            out.closeEntry();
            out.setComment(comment);
        }
        return bytes.toByteArray();
    }
}
