package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The port, the threads, and clients that leave. */
class HttpServerTest extends HttpServerFixture {

    @Test
    void clientThatIsGoneIsNoticed() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gone = new CountDownLatch(1);
        AtomicInteger tooEarly = new AtomicInteger();
        open(Limits.DEFAULT, (request, response) -> {
            if (request.path().equals("/stays")) {
                tooEarly.addAndGet(response.clientGone() ? 1 : 0);
                hello(request, response);
                return;
            }
            tooEarly.addAndGet(response.clientGone() ? 1 : 0);
            inside.countDown();
            while (!response.clientGone()) {
                Thread.yield();
            }
            gone.countDown();
        });
        assertTrue(answer(send("GET /stays HTTP/1.1\r\nHost: a\r\n\r\nGET /stays HTTP/1.0\r\n\r\n")).endsWith("hello"));
        Socket socket = send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        inside.await();
        socket.close();
        gone.await();
        assertEquals(0, tooEarly.get());
    }

    @Test
    void closesAtOnce() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        AtomicInteger interrupted = new AtomicInteger();
        open(Limits.DEFAULT, (request, response) -> {
            inside.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
            }
            response.send(200, new byte[1]);
        });
        Socket answered = send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        Socket silent = connect();
        inside.await();
        server.close();
        assertEquals("", answer(answered));
        assertEquals("", answer(silent));
        assertThrows(IOException.class, this::connect);
        HttpServer next = HttpServer.open(server.address(), Transport.PLAIN, HttpServerFixture::hello);
        release.countDown();
        next.close();
        assertEquals(0, interrupted.get());
    }

    /** The threads are the same, whichever thread opens the server. */
    @Test
    void threadsTakeNothingAlong() throws Exception {
        List<Object> seen = new CopyOnWriteArrayList<>();
        Thread opener = new Thread(() -> {
            try {
                open(Limits.DEFAULT, (request, response) -> {
                    Thread thread = Thread.currentThread();
                    seen.addAll(List.of(thread.getContextClassLoader(), thread.getPriority(), thread.isDaemon()));
                    hello(request, response);
                });
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        opener.setPriority(Thread.MAX_PRIORITY);
        opener.setContextClassLoader(new URLClassLoader(new URL[0]));
        opener.start();
        opener.join();
        assertTrue(answer(send("GET / HTTP/1.0\r\n\r\n")).endsWith("hello"));
        assertEquals(List.of(ClassLoader.getSystemClassLoader(), Thread.NORM_PRIORITY, true), seen);
        Set<Thread> threads = Thread.getAllStackTraces().keySet();
        List<Thread> always = threads.stream().filter(thread -> thread.getName().equals("jmx-exporter-http")).toList();
        assertFalse(always.isEmpty()); // Those of another test may be about to end.
        for (Thread thread : always) {
            assertNull(thread.getContextClassLoader());
            assertEquals(Thread.NORM_PRIORITY, thread.getPriority());
            assertTrue(thread.isDaemon());
        }
    }

    @Test
    void portThatIsTaken() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        assertThrows(BindException.class, () -> HttpServer.open(server.address(), Transport.PLAIN, HttpServerFixture::hello));
    }
}
