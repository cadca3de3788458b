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
 * two hang, there are no more: each would take another thread, and hang as well if the configurations are alike.
 */
final class Scrapes {

    /** How long a collection may take before clients get 503 instead. */
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
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
                            throw unavailable(mine.failure);
                        }
                        answered = true;
                        return mine;
                    }
                    String refusal = refusal(mine, deadline.hasPassed(mine == null ? null : mine.thread));
                    if (refusal != null) {
                        throw new Unavailable(503, refusal);
                    }
                    pause();
                }
            }
            return null;
        } finally { // Also when memory is out: an answer that nobody releases would be the last one.
            if (!answered) {
                leave(mine);
            }
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
        if (current == null || current.metrics != metrics && System.nanoTime() - shownAt > GRACE_NANOS) {
            if (!workers.isReady() && Threads.count(Collection.NAME) >= HUNG) {
                throw new Unavailable(503, "Two collections hang inside MBeans of the application, and no other is started until one of them"
                        + " comes out: jcmd <pid> Thread.print shows where, as threads " + Collection.NAME + ".");
            }
            Collection next = new Collection(metrics);
            next.thread = start(next);
            current = next;
        }
        if (current.metrics != metrics || current.done && (current.failure != null || System.nanoTime() - current.finished > SHARED_NANOS)) {
            return null;
        }
        current.clients++;
        return current;
    }

    private Thread start(Collection next) throws Unavailable {
        try {
            return workers.run(next);
        } catch (OutOfMemoryError e) {
            if (!Threads.areRefused()) {
                throw e;
            }
            throw new Unavailable(503, "The JVM has no thread for a collection: raise the limit of threads, or have the application use fewer."
                    + " The agent asks for one again after 10 minutes.");
        }
    }

    private static Unavailable unavailable(Throwable failure) {
        return failure instanceof CollectionTooLarge ? new Unavailable(503, failure.getMessage())
                : new Unavailable(500, "The scrape failed: " + failure);
    }

    /** Why a client shall not wait any longer; null while it may. */
    private static String refusal(Collection mine, boolean late) {
        if (mine != null && System.nanoTime() - mine.started > LIMIT_NANOS) {
            return "The collection has been running for more than a minute, probably inside an MBean of the application:"
                    + " jcmd <pid> Thread.print shows where, as thread " + Collection.NAME + ".";
        }
        if (!late) {
            return null;
        }
        return mine != null ? "The collection takes longer than the scraper waits: collect less, or let it wait longer."
                : "The last answer is still being written to another client: ask again.";
    }

    private synchronized void leave(Collection left) {
        if (left != null && --left.clients == 0 && left.done) {
            drop(left);
        }
    }

    private synchronized void finish(Collection finished) {
        finished.done = true;
        ended++;
        finished.finished = System.nanoTime();
        if (finished.metrics == metrics && finished.failure instanceof CollectionTooLarge) {
            tooLarge = tooLarge == null ? finished.failure.getMessage() : tooLarge;
        } else if (finished.metrics == metrics && finished.failure == null) {
            tooLarge = null;
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

    private void pause() {
        try {
            wait(LOOK_MILLIS);
        } catch (InterruptedException e) {
            // An application that interrupts threads it does not know makes us look early, no more.
        }
    }

    /** One collection, and its answer until all that share it have released it. */
    final class Collection implements Workers.Task, AutoCloseable {

        private static final String NAME = "jmx-exporter-collector";

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
