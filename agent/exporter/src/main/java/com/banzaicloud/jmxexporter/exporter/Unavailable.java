package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.rules.CollectionTooLarge;
import java.util.concurrent.TimeUnit;

/** Why there are no metrics now, in a sentence for the client. */
final class Unavailable extends Exception {

    private static final long serialVersionUID = 1;

    /** How long a collection may take before clients get 503 instead. */
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final int status;

    Unavailable(int status, String sentence) {
        super(sentence, null, false, false);
        this.status = status;
    }

    /**
     * Ends the wait of a client that shall not wait any longer.
     *
     * @param nanos how long the collection that it waits for has been running; -1 if it waits for none
     * @param late whether the client does not want to wait longer
     * @param judging whether it waits because a configuration is tried that is not served
     */
    static void check(long nanos, boolean late, boolean judging) throws Unavailable {
        if (nanos > LIMIT_NANOS) {
            throw new Unavailable(503, "The collection has been running for more than a minute, probably inside an MBean of the application:"
                    + " jcmd <pid> Thread.print shows where, as thread " + Scrapes.Collection.NAME + ".");
        }
        if (late && judging) {
            throw new Unavailable(503, "A configuration is being judged, which takes 3 seconds at most: ask again.");
        }
        if (late) {
            throw new Unavailable(503, nanos >= 0 ? "The collection takes longer than the scraper waits: collect less, or let it wait longer."
                    : "The last answer is still being written to another client: ask again.");
        }
    }

    /** So many collections hang that no other is started. */
    static Unavailable hung() {
        return new Unavailable(503, "Two collections hang inside MBeans of the application, and no other is started until one of them"
                + " comes out: jcmd <pid> Thread.print shows where, as threads " + Scrapes.Collection.NAME + ".");
    }

    /** The JVM has refused a thread. */
    static Unavailable withoutThread() {
        return new Unavailable(503, "The JVM has no thread for a collection: raise the limit of threads, or have the application use fewer."
                + " The agent asks for one again after 10 minutes.");
    }

    /** A trial has not ended in its time. */
    static Unavailable unfinished(boolean begun) {
        return new Unavailable(503, begun
                ? "The collection did not end within the 3 seconds of a trial: collect less, by includeObjectNames or excludeObjectNames, or give the container more CPU."
                : "The collection could not begin within 3 seconds, since another one ran or its answer was being read, or for want of CPU: ask again.");
    }

    /** Why a collection that failed has no answer. */
    static Unavailable because(Throwable failure) {
        return failure instanceof CollectionTooLarge ? new Unavailable(503, failure.getMessage())
                : new Unavailable(500, "The scrape failed: " + failure);
    }

    /** The HTTP status. */
    int status() {
        return status;
    }
}
