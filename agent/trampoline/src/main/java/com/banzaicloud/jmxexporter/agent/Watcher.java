package com.banzaicloud.jmxexporter.agent;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.Collections;

/** Looks at the desired file twice a second, and tells the {@link Driver} when it was replaced. */
final class Watcher extends Thread {

    private static final long PERIOD_MILLIS = 500;
    private static final int LIMIT_BYTES = 64 << 10;

    /** What its threads leave uncaught would be printed on the application's output. */
    private static final ThreadGroup THREADS = new ThreadGroup("jmx-exporter") {
        @Override
        public void uncaughtException(Thread thread, Throwable thrown) {}
    };

    private final Driver driver = new Driver();
    private final Path file;
    private Object seen;
    private boolean troubled;
    private boolean woken;
    private boolean finished;

    Watcher(String file) throws Refusal {
        super(THREADS, "jmx-exporter-agent");
        if (file == null) {
            throw new Refusal("The agent was loaded without an argument: give it the path of the desired file.");
        }
        this.file = Paths.get(file);
        setDaemon(true);
        setContextClassLoader(null);
        Mark.replace(Collections.singletonMap("state", "starting"));
    }

    /** Makes it look now; false when it has ended, which it does once what it drove was stopped. */
    synchronized boolean wake() {
        woken = true;
        notifyAll();
        return !finished;
    }

    @Override
    public void run() {
        do {
            try {
                look();
                if (troubled) { // It has passed, and what is served was never in question.
                    driver.answerAgain();
                    troubled = false;
                }
                driver.notice();
                Mark.publish(); // The application may have replaced its properties.
            } catch (Throwable t) { // Out of memory, say: the next look may succeed.
                troubled = true;
                driver.report(t);
            }
        } while (!pause());
    }

    private void look() throws IOException, Refusal {
        Object found;
        try {
            found = fingerprint();
        } catch (IOException e) {
            if (seen == null) {
                throw e;
            }
            return; // Somebody cleaned up: what runs goes on.
        }
        if (found.equals(seen)) {
            return;
        }
        String content = new String(TrustedFile.read(file, LIMIT_BYTES), StandardCharsets.UTF_8);
        seen = found;
        driver.drive(content.trim());
    }

    /** The inode is in it because Java 8 knows times to the second only, and a replaced file has another. */
    private Object fingerprint() throws IOException {
        BasicFileAttributes a = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        return Arrays.asList(a.lastModifiedTime(), a.size(), String.valueOf(a.fileKey()));
    }

    /** Waits for the next look; true when there is none to come. */
    private synchronized boolean pause() {
        finished = driver.isStopped() && !woken;
        if (!finished && !woken) {
            try {
                wait(PERIOD_MILLIS);
            } catch (InterruptedException e) {
                // An application that interrupts threads it does not know makes us look early, no more.
            }
        }
        woken = false;
        return finished;
    }
}
