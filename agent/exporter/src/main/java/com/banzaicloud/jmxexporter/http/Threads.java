package com.banzaicloud.jmxexporter.http;

import java.security.AccessControlContext;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.ProtectionDomain;

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

    private Threads() {}

    /**
     * Starts a daemon of normal priority.
     *
     * @param context its context class loader, which may be null
     */
    public static Thread start(Runnable work, String name, ClassLoader context) {
        Thread thread = create(work, name);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        thread.setContextClassLoader(context);
        thread.setUncaughtExceptionHandler(SILENT);
        thread.start();
        return thread;
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

    /** Waits on a monitor that the caller holds; an application that interrupts threads it does not know ends only the wait. */
    static void await(Object monitor, long millis) {
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
