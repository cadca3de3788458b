package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Limits of time and number, short enough for a test to wait for. */
class HttpLimitsTest extends HttpServerFixture {

    @Test
    void silentClientIsClosed() throws Exception {
        open(new Limits(200, NEVER, NEVER), HttpServerFixture::hello);
        assertEquals("", answer(connect()));
    }

    /** However many bytes come: it is the whole request that has its time. */
    @Test
    void drippingClientIsClosed() throws Exception {
        open(new Limits(500, NEVER, NEVER), HttpServerFixture::hello);
        Socket socket = send("GET /");
        socket.setSoTimeout(50); // For an answer between two bytes.
        assertThrows(IOException.class, () -> {
            for (int i = 0; i < 1000; i++) {
                socket.getOutputStream().write('a');
                assertTrue(isSilent(socket), "an answer");
            }
        });
    }

    private static boolean isSilent(Socket socket) throws IOException {
        try {
            if (socket.getInputStream().read() < 0) {
                throw new EOFException();
            }
            return false;
        } catch (SocketTimeoutException e) {
            return true;
        }
    }

    @Test
    void keptConnectionIsClosed() throws Exception {
        open(new Limits(NEVER, 200, NEVER), HttpServerFixture::hello);
        assertTrue(answer(send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")).endsWith("hello"));
    }

    /** Also while nothing calls the checks, as in a change of the configuration. */
    @Test
    void keptConnectionIsClosedByTheNextClient() throws Exception {
        openUnchecked(new Limits(NEVER, 200, NEVER), HttpServerFixture::hello);
        Socket kept = send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assertEquals('H', kept.getInputStream().read());
        for (int i = 0; !isAtEnd(kept); i++) {
            assertTrue(i < 200, "the connection is still open");
            assertTrue(answer(send("GET / HTTP/1.0\r\n\r\n")).endsWith("hello"));
        }
    }

    @Test
    void keptConnectionIsClosedByTheNextRequest() throws Exception {
        openUnchecked(new Limits(NEVER, 500, NEVER), HttpServerFixture::hello);
        Socket other = connect();
        Socket kept = send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assertEquals('H', kept.getInputStream().read());
        for (int i = 0; !isAtEnd(kept); i++) {
            assertTrue(i < 200, "the connection is still open");
            other.getOutputStream().write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            assertTrue(other.getInputStream().read(new byte[1000]) > 0);
        }
    }

    /** Reads on for a moment; true at the end of the stream. */
    private static boolean isAtEnd(Socket socket) throws IOException {
        socket.setSoTimeout(50);
        try {
            while (socket.getInputStream().read() >= 0) {
                // The rest of an answer.
            }
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        }
    }

    @Test
    void readerThatNeverReadsIsClosed() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        open(new Limits(NEVER, NEVER, 500), (request, response) -> {
            try (OutputStream out = response.start(200)) {
                while (true) {
                    out.write(new byte[100_000]);
                }
            } catch (IOException e) {
                failed.countDown();
                throw e;
            }
        });
        send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        failed.await();
    }

    /** As long as the handler takes: what it waits for is the application. */
    @Test
    void handlerHasAllTheTime() throws Exception {
        open(new Limits(200, 200, 200), (request, response) -> {
            // Has come later than the handler's, and been closed for being late.
            assertEquals(-1, connect().getInputStream().read());
            hello(request, response);
        });
        assertTrue(answer(send("GET / HTTP/1.0\r\n\r\n")).endsWith("hello"));
    }

    @Test
    void connectionsEndAfterSoManyRequests() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        Socket socket = connect();
        Thread sender = new Thread(() -> {
            try {
                socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(Limits.REQUESTS + 5).getBytes());
            } catch (IOException closed) {
                // After those that are answered.
            }
        });
        sender.start();
        byte[] answers = new byte[1 << 20];
        int length = 0;
        try {
            for (int read = 0; read >= 0; read = socket.getInputStream().read(answers, length, answers.length - length)) {
                length += read;
            }
        } catch (IOException reset) {
            // Of what was sent too much.
        }
        sender.join();
        assertEquals(Limits.REQUESTS, new String(answers, 0, length).split("HTTP/1.1 200 OK", -1).length - 1);
    }

    /** While all are being answered, a new one is refused at once, without a thread; a place that is free again is taken. */
    @Test
    void connectionsAreBounded() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CountDownLatch all = new CountDownLatch(Limits.CONNECTIONS);
        open(new Limits(NEVER, NEVER, NEVER), (request, response) -> {
            all.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            hello(request, response);
        });
        List<Socket> busy = new ArrayList<>();
        for (int i = 0; i < Limits.CONNECTIONS; i++) {
            busy.add(send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        }
        all.await();
        for (int i = 0; i < 100; i++) {
            assertTrue(answer(connect()).startsWith("HTTP/1.1 503 Service Unavailable\r\n"));
        }
        release.countDown();
        for (Socket socket : busy) {
            assertEquals('H', socket.getInputStream().read());
        }
        assertTrue(answer(send("GET / HTTP/1.0\r\n\r\n")).endsWith("hello"));
    }

    /** Whatever closing a connection throws, its place is free afterwards. */
    @Test
    void placeIsFreeWhenCloseThrows() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        Connections connections = new Connections();
        Workers workers = new Workers("test", null);
        for (int i = 0; i <= Limits.CONNECTIONS; i++) {
            Connection connection = new Connection(new Socket() {
                @Override
                public void close() {
                    throw new OutOfMemoryError("in a test");
                }
            }, server, connections);
            connection.busy = true; // Nobody waits for its place.
            assertTrue(connections.add(connection), "no place");
            workers.run(connection);
            connections.awaitNone(60_000);
        }
        workers.close(60_000);
    }
}
