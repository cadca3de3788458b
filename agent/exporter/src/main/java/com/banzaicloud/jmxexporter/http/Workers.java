package com.banzaicloud.jmxexporter.http;

import java.util.concurrent.TimeUnit;

/**
 * Runs tasks, each on a thread of its own, and keeps one idle thread for the next. So an application that has run out
 * of threads is still served: its JVM would not only refuse another thread, but say so on the application's output.
 *
 * <p>Tasks may run the application's code, which may leave something on the thread. The context class loader and the
 * interrupt are taken back after each task. Thread-locals cannot be, and their values may hold a class loader of the
 * application: therefore a thread that has run tasks is replaced after an hour.
 */
public final class Workers {

    private final String name;
    private final ClassLoader context;
    private final long maxAgeNanos;
    private boolean closed;
    private int number;
    /** The idle one; null while there is none. */
    private Worker spare;

    /**
     * Has no thread yet.
     *
     * @param name of its threads, which are numbered if it ends with a hyphen
     * @param context their context class loader, which may be null
     */
    public Workers(String name, ClassLoader context) {
        this(name, context, TimeUnit.HOURS.toNanos(1));
    }

    Workers(String name, ClassLoader context, long maxAgeNanos) {
        this.name = name;
        this.context = context;
        this.maxAgeNanos = maxAgeNanos;
    }

    /** Work, and what is to be done once its thread is idle again or about to end. */
    public interface Task extends Runnable {

        /** Called after {@link #run}: whoever learns from it that the work is done finds the thread ready for the next. */
        void done();
    }

    /** Keeps an idle thread from now on, as before a {@link #close}. */
    public synchronized void open() {
        closed = false;
    }

    /** Has a thread wait for the first task. */
    synchronized void prepare() {
        if (!isReady()) {
            spare = start(null);
        }
    }

    /** Keeps no thread from now on; those that run a task end after it. Waits for the idle one to end, but no longer than this. */
    public void close(long millis) {
        Worker last;
        synchronized (this) {
            closed = true;
            last = spare;
            spare = null;
            notifyAll();
        }
        Threads.awaitEnd(last == null ? null : last.thread, millis);
    }

    /** Reports whether the next task needs no new thread. */
    public synchronized boolean isReady() {
        return spare != null && spare.thread.isAlive(); // The application may have stopped it.
    }

    /** As {@link #isReady}, after waiting for it, but no longer than this. */
    synchronized boolean awaitReady(long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (long left = millis; !isReady() && left > 0; left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
            Threads.await(this, left);
        }
        return isReady();
    }

    /** Runs a task, and returns its thread. What is thrown says that there is none. */
    public synchronized Thread run(Task task) {
        Worker idle = isReady() ? spare : null;
        if (idle == null || idle.isOld()) {
            try {
                Worker fresh = start(task);
                spare = null;
                notifyAll(); // The old one ends.
                return fresh.thread;
            } catch (Throwable t) {
                if (idle == null) {
                    throw t;
                }
                idle.usedSince = System.nanoTime(); // The next attempt is in an hour.
            }
        }
        idle.task = task;
        spare = null;
        notifyAll();
        return idle.thread;
    }

    private Worker start(Task task) {
        Worker worker = new Worker(task);
        worker.thread = Threads.start(worker, name.endsWith("-") ? name + ++number : name, context);
        return worker;
    }

    private final class Worker implements Runnable {

        private Thread thread;
        private Task task;
        /** When it got its first task; 0 before. */
        private long usedSince;

        Worker(Task task) {
            this.task = task;
        }

        boolean isOld() {
            return usedSince != 0 && System.nanoTime() - usedSince >= maxAgeNanos;
        }

        @Override
        public void run() {
            while (runNext()) {
                // No variable of an idle thread keeps its last task.
            }
        }

        /** Runs the next task; false if the thread is not needed any more. */
        private boolean runNext() {
            Task next = next();
            if (next == null) {
                return false;
            }
            try {
                next.run();
            } catch (Throwable t) {
                // A task that has something to say of it catches it.
            } finally {
                try {
                    offer();
                } finally {
                    next.done();
                }
            }
            return true;
        }

        /** Becomes the idle thread, if there is none. */
        private void offer() {
            synchronized (Workers.this) {
                thread = Thread.currentThread(); // The application may have stopped who started it before it could note this.
                task = null;
                usedSince = usedSince == 0 ? System.nanoTime() : usedSince;
                if (!closed && !isReady()) {
                    spare = this;
                    Workers.this.notifyAll();
                }
            }
        }

        /** Waits for the next task; null if the thread is not needed any more. */
        private Task next() {
            synchronized (Workers.this) {
                while (task == null && spare == this) {
                    Threads.await(Workers.this, 0);
                }
            }
            Thread.interrupted(); // Not meant for the next task, which it would harm.
            if (Thread.currentThread().getContextClassLoader() != context) {
                Thread.currentThread().setContextClassLoader(context);
            }
            return task;
        }
    }
}
