package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** One thread does what comes one by one, and keeps nothing of it. */
class WorkersTest {

    private static final long SOON = 60_000;

    private final ClassLoader context = new URLClassLoader(new URL[0]);

    @Test
    void oneThreadForAll() throws Exception {
        Workers workers = new Workers("test", context);
        Thread first = new Recorded(workers).thread;
        assertTrue(workers.isReady());
        assertSame(first, new Recorded(workers).thread);
        workers.close(SOON);
        assertFalse(first.isAlive());
    }

    @Test
    void threadsBesideThoseThatWork() throws Exception {
        Workers workers = new Workers("test-", context);
        CountDownLatch release = new CountDownLatch(1);
        Recorded busy = new Recorded(workers, release);
        Recorded other = new Recorded(workers);
        assertEquals("test-1", busy.thread.getName());
        assertEquals("test-2", other.thread.getName());
        release.countDown();
        busy.awaitDone();
        busy.thread.join(SOON);
        assertFalse(busy.thread.isAlive(), "one is kept, not two");
        workers.close(SOON);
    }

    /** What a task leaves on the thread is not there for the next one. */
    @Test
    void cleanThread() throws Exception {
        Workers workers = new Workers("test", context);
        new Recorded(workers) {
            @Override
            void work() {
                Thread.currentThread().setContextClassLoader(null);
                Thread.currentThread().interrupt();
                throw new IllegalStateException("in a test");
            }
        };
        Recorded next = new Recorded(workers);
        assertSame(context, next.context);
        assertFalse(next.interrupted);
        workers.close(SOON);
    }

    /** An application's thread-locals die with the thread. */
    @Test
    void oldThreadIsReplaced() throws Exception {
        Workers workers = new Workers("test", context, 0);
        Thread first = new Recorded(workers).thread;
        Thread second = new Recorded(workers).thread;
        assertNotSame(first, second);
        first.join(SOON);
        assertFalse(first.isAlive());
        workers.close(SOON);
    }

    /** An idle thread keeps nothing of its last task alive, such as a class loader. */
    @Test
    void taskIsForgotten() throws Exception {
        Workers workers = new Workers("test", context);
        ReferenceQueue<Recorded> forgotten = new ReferenceQueue<>();
        WeakReference<Recorded> task = new WeakReference<>(new Recorded(workers), forgotten);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SOON);
        do {
            assertTrue(System.nanoTime() < deadline, "the task is still there");
            System.gc();
        } while (forgotten.remove(10) != task);
        assertTrue(workers.isReady());
        workers.close(SOON);
    }

    /** After a close nothing is kept, but all is done. */
    @Test
    void closed() throws Exception {
        Workers workers = new Workers("test", context);
        workers.prepare();
        workers.close(SOON);
        Recorded last = new Recorded(workers);
        last.thread.join(SOON);
        assertFalse(last.thread.isAlive());
        workers.open();
        new Recorded(workers);
        assertTrue(workers.isReady());
        workers.close(SOON);
    }

    /** A task that runs when it is made, and says how. */
    private static class Recorded implements Workers.Task {

        final Thread thread;
        private final CountDownLatch release;
        private final CountDownLatch done = new CountDownLatch(1);
        volatile ClassLoader context;
        volatile boolean interrupted;

        Recorded(Workers workers) throws InterruptedException {
            this(workers, new CountDownLatch(0));
            awaitDone();
        }

        Recorded(Workers workers, CountDownLatch release) {
            this.release = release;
            thread = workers.run(this);
        }

        @Override
        public void run() {
            context = Thread.currentThread().getContextClassLoader();
            interrupted = Thread.currentThread().isInterrupted();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            work();
        }

        void work() {}

        @Override
        public void done() {
            done.countDown();
        }

        void awaitDone() throws InterruptedException {
            assertTrue(done.await(SOON, TimeUnit.MILLISECONDS));
        }
    }
}
