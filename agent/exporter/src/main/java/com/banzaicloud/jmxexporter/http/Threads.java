package com.banzaicloud.jmxexporter.http;

import java.security.AccessControlContext;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.ProtectionDomain;
import java.util.concurrent.TimeUnit;

/**
 * Makes threads that take nothing along from the one that makes them. Thread-locals that are inherited cannot be
 * refused before Java 9; they stay empty, since only threads of ours make threads of ours, never one that has been in
 * the application's code, and the first was made by the JVM's own.
 */
public final class Threads {

    /** What is thrown there ends the thread; the default handler would print it. */
    private static final Thread.UncaughtExceptionHandler SILENT = new Thread.UncaughtExceptionHandler() {
        @Override
        public void uncaughtException(Thread thread, Throwable thrown) {}
    };

    /** How long no thread is asked for after one was refused: HotSpot prints two lines on the application's output each time. */
    private static final long REFUSED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private static volatile boolean refused;
    private static volatile long refusedAt;

    private Threads() {}

    /**
     * Starts a daemon of normal priority.
     *
     * @param context its context class loader, which may be null
     * @throws OutOfMemoryError if the VM refuses the thread, or {@linkplain #areRefused has refused one lately}
     */
    public static Thread start(Runnable work, String name, ClassLoader context) {
        if (areRefused()) {
            throw new OutOfMemoryError("the JVM had no thread for the agent, which asks for none for 10 minutes");
        }
        Thread thread = create(work, name);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        thread.setContextClassLoader(context);
        thread.setUncaughtExceptionHandler(SILENT);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            if (String.valueOf(e.getMessage()).contains("thread")) { // Not of the heap.
                refusedAt = System.nanoTime();
                refused = true;
            }
            throw e;
        }
        return thread;
    }

    /** Reports whether the VM has refused a thread lately, so that it is not asked for another. */
    public static boolean areRefused() {
        if (refused && System.nanoTime() - refusedAt > REFUSED_NANOS) {
            refused = false;
        }
        return refused;
    }

    /** A thread keeps the access control context of its creation, and with it the class loaders of all that were on the stack. */
    private static Thread create(final Runnable work, final String name) {
        try {
            return AccessController.doPrivileged(new PrivilegedAction<Thread>() {
                @Override
                public Thread run() {
                    return new Thread(work, name);
                }
            }, new AccessControlContext(new ProtectionDomain[0]));
        } catch (NoClassDefFoundError e) { // They are deprecated for removal (JEP 411), and so is what they are for.
            return new Thread(work, name);
        }
    }

    /** How many threads have this name, also those of other versions: all are in the thread group that the trampoline made. */
    public static int count(String name) {
        Thread[] ours = new Thread[64];
        int found = Thread.currentThread().getThreadGroup().enumerate(ours, false);
        int count = 0;
        for (int i = 0; i < found; i++) {
            count += ours[i].getName().equals(name) ? 1 : 0;
        }
        return count;
    }

    /** Waits on a monitor that the caller holds; an application that interrupts threads it does not know ends only the wait. */
    public static void await(Object monitor, long millis) {
        try {
            monitor.wait(millis);
        } catch (InterruptedException e) {
            // The caller checks what it waits for.
        }
    }

    /** Waits until a thread has ended, but no longer than this; null has ended. */
    static void awaitEnd(Thread thread, long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (thread != null && thread.isAlive() && System.nanoTime() < end) {
            try {
                thread.join(50);
            } catch (InterruptedException e) {
                // As above.
            }
        }
    }
}
