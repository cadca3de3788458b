package com.banzaicloud.jmxexporter.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading what another user exchanges meanwhile. It takes root to give files to that user. */
class TrustedFileTest {

    private static final int LIMIT = 1 << 20;
    private static final int ROUNDS = 1000;

    @TempDir
    Path tmp;

    @Test
    void directoriesExchangedMeanwhile() throws Exception {
        Path own = directory("own", 0, "root's");
        Path foreign = directory("foreign", 2000, "a foreign user's");
        Path directory = tmp.resolve("directory");
        Path away = tmp.resolve("away");
        AtomicBoolean done = new AtomicBoolean();
        Thread exchanging = new Thread(() -> {
            while (!done.get()) {
                move(own, directory);
                move(directory, away);
                move(foreign, directory);
                move(directory, foreign);
                move(away, own);
            }
        });
        exchanging.start();
        int read = 0;
        int refused = 0;
        int tries = 0;
        try {
            for (; tries < 1_000_000 && (read < ROUNDS || refused < ROUNDS); tries++) {
                try {
                    assertEquals("root's", new String(TrustedFile.read(directory.resolve("file"), LIMIT), StandardCharsets.UTF_8));
                    read++;
                } catch (Refusal e) {
                    refused++;
                } catch (NoSuchFileException gone) {
                    // Between two renames.
                }
            }
        } finally {
            done.set(true);
            exchanging.join();
        }
        assertTrue(read >= ROUNDS && refused >= ROUNDS, "the race was no race: read " + read + ", refused " + refused + " of " + tries);
    }

    @Test
    void filesAreBounded() throws Exception {
        Path file = directory("own", 0, "root's").resolve("file");
        assertArrayEquals("root's".getBytes(StandardCharsets.UTF_8), TrustedFile.read(file, 6));
        assertTrue(assertThrows(Refusal.class, () -> TrustedFile.read(file, 5)).getMessage().contains("6 bytes, more than 5"));
    }

    @Test
    void whatIsNoFileIsNotOpened() throws Exception {
        Path own = directory("own", 0, "root's");
        Process mkfifo = new ProcessBuilder("mkfifo", own.resolve("fifo").toString()).inheritIO().start();
        assertEquals(0, mkfifo.waitFor());
        Files.createDirectory(own.resolve("directory"));
        for (String name : new String[] {"fifo", "directory"}) {
            assertTrue(assertThrows(Refusal.class, () -> TrustedFile.read(own.resolve(name), LIMIT)).getMessage().contains("not a regular file"), name);
        }
        assertThrows(NoSuchFileException.class, () -> TrustedFile.read(own.resolve("missing"), LIMIT));
    }

    @Test
    void directoryThatIsAFifoIsNotOpened() throws Exception {
        Path fifo = tmp.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).inheritIO().start().waitFor());
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> assertThrows(IOException.class, () -> TrustedFile.read(fifo.resolve("file"), LIMIT)));
    }

    private Path directory(String name, int owner, String content) throws IOException {
        Path directory = Files.createDirectory(tmp.resolve(name));
        Path file = Files.writeString(directory.resolve("file"), content);
        Files.setAttribute(directory, "unix:uid", owner);
        Files.setAttribute(file, "unix:uid", owner);
        return directory;
    }

    private static void move(Path from, Path to) {
        try {
            Files.move(from, to);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
