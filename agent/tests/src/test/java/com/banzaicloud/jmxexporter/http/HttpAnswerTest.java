package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers, whole and streamed, and what comes instead of one. */
class HttpAnswerTest extends HttpServerFixture {

    @Test
    void wholeAnswers() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        assertEquals("HTTP/1.1 200 OK\r\n<date>X-Path: /a\r\nContent-Length: 5\r\n\r\nhello"
                        + "HTTP/1.1 200 OK\r\n<date>X-Path: /b\r\nContent-Length: 5\r\n\r\n"
                        + "HTTP/1.1 200 OK\r\n<date>X-Path: /c\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                answer(send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")));
        assertEquals("HTTP/1.1 200 OK\r\n<date>X-Path: /a\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"
                        + "HTTP/1.1 200 OK\r\n<date>X-Path: /b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                answer(send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n")));
    }

    @Test
    void streamedAnswers() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        assertEquals("HTTP/1.1 200 OK\r\n<date>X-Path: /stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n3\r\nyou\r\n0\r\n\r\n"
                        + "HTTP/1.1 200 OK\r\n<date>X-Path: /stream\r\nConnection: close\r\n\r\n",
                answer(send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")));
        assertEquals("HTTP/1.1 200 OK\r\n<date>X-Path: /stream\r\nConnection: close\r\n\r\nhello you",
                answer(send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8191, 8192, 8193, 100_000})
    void streamsOfAnyLength(int length) throws Exception {
        byte[] body = new byte[length];
        Arrays.fill(body, (byte) 'x');
        open(Limits.DEFAULT, (request, response) -> response.start(200).write(body));
        String chunked = answer(send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assertTrue(chunked.endsWith("0\r\n\r\n"), "ends with an empty chunk");
        assertEquals(length, chunked.chars().filter(c -> c == 'x').count());
        assertEquals(length, answer(send("GET / HTTP/1.0\r\n\r\n")).chars().filter(c -> c == 'x').count());
    }

    /** A body is left aside, and with it whatever follows it. */
    @Test
    void bodiesEndTheConnection() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        assertEquals("HTTP/1.1 200 OK\r\n<date>X-Path: /a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
                answer(send("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 26\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")));
    }

    /** Also by a client that is still sending. */
    @Test
    void refusalsAreRead() throws Exception {
        open(Limits.DEFAULT, HttpServerFixture::hello);
        String answer = answer(send("GET /" + "a".repeat(300_000) + " HTTP/1.1\r\n\r\n"));
        assertTrue(answer.startsWith("HTTP/1.1 414 URI Too Long\r\n"), answer);
        assertTrue(answer.endsWith("The request line is longer than 8192 bytes.\n"), answer);
    }

    @Test
    void failuresAreSeen() throws Exception {
        open(Limits.DEFAULT, (request, response) -> {
            if (request.path().equals("/late")) {
                try (OutputStream out = response.start(200)) {
                    out.write("half".getBytes());
                    throw new OutOfMemoryError();
                }
            }
            if (request.path().equals("/early")) {
                throw new IllegalStateException("secret");
            }
        });
        String early = answer(send("GET /early HTTP/1.0\r\n\r\n"));
        assertTrue(early.startsWith("HTTP/1.1 500 Internal Server Error\r\n"), early);
        assertTrue(!early.contains("secret"), early);
        assertThrows(IOException.class, () -> answer(send("GET /late HTTP/1.0\r\n\r\n")), "a reset");
        assertThrows(IOException.class, () -> answer(send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n")), "a reset");
        assertThrows(IOException.class, () -> answer(send("GET /nothing HTTP/1.0\r\n\r\n")), "a reset");
    }
}
