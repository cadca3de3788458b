package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Answer;
import com.banzaicloud.jmxexporter.http.Response;
import com.banzaicloud.jmxexporter.http.Threads;
import com.banzaicloud.jmxexporter.http.Workers;
import com.banzaicloud.jmxexporter.rules.CollectionTooLarge;
import com.banzaicloud.jmxexporter.rules.Rules;
import java.util.concurrent.TimeUnit;

/**
 * Collects for clients: one collection at a time, whose answer goes to all that asked while it ran. The heap
 * that a collection and its answer take is the application's, so there is never more than one of either: a client that
 * asks while an answer is still being written gets that one, or the next once it is old, which starts when the other is
 * done. So a client that does not read its answer keeps it from nobody for long.
 *
 * <p>Collections have a thread of their own. It may hang in an MBean of the application, where it cannot be
 * interrupted without harm; clients that wait for it can give up, and another configuration is not held up by it. Once
 * two hang, there are no more: each would take another thread, and hang as well if the configurations are alike. One
 * trial that hangs comes on top of them: it takes from clients neither of the two.
 */
final class Scrapes {

    /** How long a collection has to end when other metrics are shown; then it is inside an MBean, or its answer with a slow client. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long a stop waits for the idle thread to end. */
    private static final long CLOSE_MILLIS = 1000;
    /** How old an answer may be that somebody else is still reading. */
    private static final long SHARED_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** How often waiting clients are checked for having gone. */
    private static final long LOOK_MILLIS = 100;
    /** How many clients wait or read at once: fewer than the server has connections, so that /-/healthy is still answered. */
    private static final int CLIENTS = 12;

    /** How many collections may hang in the JVM, also of implementations that were replaced. */
    private static final int HUNG = 2;
    /** Names the thread of a trial that was given up, so that it does not count among these. */
    private static final String CANDIDATE = "jmx-exporter-candidate";

    // MBeans are asked on its threads: they look like the application's.
    private final Workers workers = new Workers(Collection.NAME, ClassLoader.getSystemClassLoader());
    private Metrics metrics;
    private long shownAt;
    private int clients;
    /** What the first of the collections said that were stopped for want of heap since one was not; figures change each time. */
    private String tooLarge;
    /** How many collections have ended. */
    private long ended;
    /** The one that runs or whose answer is being written; null when there is neither. */
    private Collection current;
    /** The one of metrics that are not shown, while it is waited for. */
    private Collection trial;

    /** Serves these metrics from now on; none when null. Those shown before should be closed. */
    void show(Metrics next) {
        synchronized (this) {
            if (next != metrics) {
                metrics = next;
                shownAt = System.nanoTime();
                tooLarge = null;
                notifyAll();
            }
        }
        if (next == null) {
            workers.close(CLOSE_MILLIS);
        } else {
            workers.open();
        }
    }

    /** How many collections have ended: as long as it is the same, nothing has changed that they report. */
    synchronized long ended() {
        return ended;
    }

    /** Says why the last collection was stopped for want of heap; null when it was not. */
    synchronized String complaint() {
        return tooLarge;
    }

    /**
     * Returns the answer for a client that waits until a deadline, to be closed when it was written; null when the
     * client has gone.
     */
    Collection ask(Response client, Deadline deadline) throws Unavailable {
        enter();
        Collection collection = null;
        try {
            collection = await(client, deadline);
            return collection;
        } finally {
            if (collection == null) {
                exit();
            }
        }
    }

    private synchronized void enter() throws Unavailable {
        if (clients == CLIENTS) {
            throw new Unavailable(503, CLIENTS + " scrapers wait for an answer or read one: ask again.");
        }
        clients++;
    }

    private synchronized void exit() {
        clients--;
    }

    private Collection await(Response client, Deadline deadline) throws Unavailable {
        Collection mine = null;
        boolean answered = false;
        try {
            while (client == null || !client.clientGone()) { // Null is nobody in particular.
                synchronized (this) {
                    if (!isOfUse(mine)) {
                        leave(mine);
                        mine = null;
                        mine = join();
                    }
                    if (mine != null && mine.done) {
                        if (mine.failure != null) {
                            throw Unavailable.because(mine.failure);
                        }
                        answered = true;
                        return mine;
                    }
                    boolean late = deadline.hasPassed(mine == null ? null : mine.thread);
                    Unavailable.check(mine == null ? -1 : System.nanoTime() - mine.started, late, trial != null);
                    Threads.await(this, LOOK_MILLIS); // An application that interrupts threads it does not know makes us look early, no more.
                }
            }
            return null;
        } finally { // Also when memory is out: an answer that nobody releases would be the last one.
            leave(answered ? null : mine);
        }
    }

    /** Collects once, and waits for that until a deadline. What goes wrong is the answer of a scrape. */
    void collect(Deadline deadline) {
        try {
            leave(await(null, deadline));
        } catch (Throwable t) {
            // An MBean does not answer, or there is no thread to be had.
        }
    }

    /**
     * Collects once by metrics that are not shown, while no other collection runs and no answer is being written; clients
     * that ask meanwhile wait. Returns what it failed with, or null. Closing the metrics then ends one that has not ended.
     *
     * @throws Unavailable when it could not begin, or has not ended
     */
    synchronized Throwable tryOut(Metrics metrics, Deadline deadline) throws Unavailable {
        if (Threads.count(CANDIDATE) > 0 || Threads.count(Collection.NAME) > (workers.isReady() || current != null ? 1 : 0)) { // It would hang as well.
            throw new Unavailable(503, "A collection hangs inside an MBean of the application: ask again once it has come out.");
        }
        try {
            while (trial == null || !trial.done && trial.thread.isAlive()) {
                if (deadline.hasPassed(trial == null ? null : trial.thread)) {
                    throw Unavailable.unfinished(trial != null);
                }
                if (trial == null && current == null) {
                    trial = begin(metrics);
                    trial.clients++;
                }
                Threads.await(this, LOOK_MILLIS);
            }
            return trial.done ? trial.failure : new IllegalStateException("its thread was stopped");
        } finally {
            if (trial != null && !trial.done) {
                trial.thread.setName(CANDIDATE);
            }
            leave(trial);
            trial = null;
            shownAt = System.nanoTime(); // It has as long to end as one of metrics that were shown before.
        }
    }

    /** Reports whether this collection is one to wait for, or to answer with. */
    private boolean isOfUse(Collection mine) {
        if (mine == null) {
            return false;
        }
        return mine.done ? !(mine.failure instanceof Rules.Stopped) : mine.metrics == metrics && mine.thread.isAlive();
    }

    /** Joins the collection that runs, or one that starts; null while neither can be. */
    private Collection join() throws Unavailable {
        if (metrics == null) {
            throw new Unavailable(503, "The agent is being stopped or started: ask again.");
        }
        if (current != null && !current.done && !current.thread.isAlive()) {
            current = null; // Its thread was stopped before it could say so.
        }
        if (current == null || current.metrics != metrics && current != trial && System.nanoTime() - shownAt > GRACE_NANOS) {
            if (!workers.isReady() && Threads.count(Collection.NAME) >= HUNG) {
                throw Unavailable.hung();
            }
            begin(metrics);
        }
        if (current.metrics != metrics || current.done && (current.failure != null || System.nanoTime() - current.finished > SHARED_NANOS)) {
            return null;
        }
        current.clients++;
        return current;
    }

    private Collection begin(Metrics metrics) throws Unavailable {
        Collection next = new Collection(metrics);
        try {
            next.thread = workers.run(next);
        } catch (OutOfMemoryError e) {
            if (!Threads.areRefused()) {
                throw e;
            }
            throw Unavailable.withoutThread();
        }
        current = next;
        return next;
    }

    private synchronized void leave(Collection left) {
        if (left != null && --left.clients == 0 && left.done) {
            drop(left);
        }
    }

    private synchronized void finish(Collection finished) {
        if (Thread.currentThread().getName().equals(CANDIDATE)) {
            Thread.currentThread().setName(Collection.NAME); // It may collect for clients next.
        }
        finished.done = true;
        ended++;
        finished.finished = System.nanoTime();
        if (finished.metrics == metrics && (finished.failure == null || tooLarge == null && finished.failure instanceof CollectionTooLarge)) {
            tooLarge = finished.failure == null ? null : finished.failure.getMessage();
        }
        if (finished.clients == 0) {
            drop(finished);
        }
        notifyAll();
    }

    private void drop(Collection dropped) {
        dropped.answer = null;
        if (current == dropped) {
            current = null;
            notifyAll();
        }
        dropped.metrics.released(); // Last: it may run out of memory.
    }

    /** One collection, and its answer until all that share it have released it. */
    final class Collection implements Workers.Task, AutoCloseable {

        static final String NAME = "jmx-exporter-collector";

        private final Metrics metrics;
        private final long started = System.nanoTime();
        private Thread thread;
        private int clients;
        private boolean done;
        private long finished;
        private Answer answer;
        private Throwable failure;

        private Collection(Metrics metrics) {
            this.metrics = metrics;
        }

        @Override
        public void run() {
            try {
                answer = metrics.collect();
            } catch (Throwable t) {
                failure = t;
            }
        }

        /** Clients learn of it once its thread is ready for what they ask next. */
        @Override
        public void done() {
            finish(this);
        }

        Answer answer() {
            return answer;
        }

        /** Releases the answer. */
        @Override
        public void close() {
            try {
                leave(this);
            } finally {
                exit();
            }
        }
    }
}
