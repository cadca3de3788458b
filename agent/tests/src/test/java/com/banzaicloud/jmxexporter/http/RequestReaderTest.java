package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is a request, and what is answered with an error. */
class RequestReaderTest {

    /** Line breaks as they are written in the tables below. */
    private static RequestReader reader(String text) {
        return new RequestReader(stream(text.replace("\\r", "\r").replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
                .getBytes(StandardCharsets.ISO_8859_1)));
    }

    private static InputStream stream(byte[] bytes) {
        return new ByteArrayInputStream(bytes);
    }

    private static final String HOST = "Host: jvm\\r\\n\\r\\n";

    @ParameterizedTest
    @CsvSource(delimiter = ' ', nullValues = "none", value = {
        "/metrics /metrics none",
        "/metrics? /metrics ''",
        "/metrics?name[]=a&b=%7a /metrics name[]=a&b=%7a",
        "/%6detrics /metrics none",
        "/a%2Fb%C3%BC?? /a/bü ?",
        "/%ff /\ufffd none",
        "http://jvm:9404/metrics?a=b /metrics a=b",
        "HTTPS://jvm / none",
        "http://jvm?a / a",
        "//metrics //metrics none",
    })
    void targets(String target, String path, String query) throws Exception {
        Request request = reader("GET " + target + " HTTP/1.1\\r\\n" + HOST).read();
        assertEquals("GET", request.method());
        assertEquals(path, request.path());
        assertEquals(query, request.query());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', ignoreLeadingAndTrailingWhitespace = false, value = {
        "400|\\r\\n\\r\\n",
        "400|GET\\r\\n" + HOST,
        "400|GET /\\r\\n" + HOST,
        "400| / HTTP/1.1\\r\\n" + HOST,
        "400|GET  HTTP/1.1\\r\\n" + HOST,
        "400|GET  / HTTP/1.1\\r\\n" + HOST,
        "400|GET /  HTTP/1.1\\r\\n" + HOST,
        "400|GET / HTTP/1.1 \\r\\n" + HOST,
        "400|GET /a b HTTP/1.1\\r\\n" + HOST,
        "400|G(T / HTTP/1.1\\r\\n" + HOST,
        "400|GET metrics HTTP/1.1\\r\\n" + HOST,
        "400|GET jvm:80 HTTP/1.1\\r\\n" + HOST,
        "400|GET http:///metrics HTTP/1.1\\r\\n" + HOST,
        "400|GET ftp://jvm/metrics HTTP/1.1\\r\\n" + HOST,
        "400|GET * HTTP/1.1\\r\\n" + HOST,
        "400|GET /#a HTTP/1.1\\r\\n" + HOST,
        "400|GET /\\t HTTP/1.1\\r\\n" + HOST,
        "400|GET /ü HTTP/1.1\\r\\n" + HOST,
        "400|GET /%zz HTTP/1.1\\r\\n" + HOST,
        "400|GET /?a=%zz HTTP/1.1\\r\\n" + HOST,
        "400|GET /?a=%4 HTTP/1.1\\r\\n" + HOST,
        "400|GET /% HTTP/1.1\\r\\n" + HOST,
        "400|GET / http/1.1\\r\\n" + HOST,
        "400|GET / HTTP/1\\r\\n" + HOST,
        "400|GET / HTTP/1.x\\r\\n" + HOST,
        "400|GET / HTTP/1.10\\r\\n" + HOST,
        "505|GET / HTTP/2.0\\r\\n" + HOST,
        "505|PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
        "400|GET / HTTP/1.1\\r\\n\\r\\n",
        "400|GET / HTTP/1.1\\r\\nHost: a\\r\\n" + HOST,
        "400|GET / HTTP/1.0\\r\\nHost: a\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\n : b\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\n: b\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nA : b\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nA\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nA: b\\r\\n c\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nA: b\\rc\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nA: \\0\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nContent-Length: -1\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nContent-Length: \\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n" + HOST,
        "400|GET / HTTP/1.1\\r\\nHost: jvm\\r\\n",
        "400|GET",
    })
    void nonsense(int status, String text) {
        assertEquals(status, assertThrows(BadRequest.class, () -> reader(text).read()).status());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "none", value = {
        "HTTP/1.1 | none | true",
        "HTTP/1.1 | close | false",
        "HTTP/1.1 | TE, Close | false",
        "HTTP/1.1 | closed | true",
        "HTTP/1.7 | none | true",
        "HTTP/1.0 | none | false",
        "HTTP/1.0 | Keep-Alive | true",
        "HTTP/1.0 | keep-alive, close | false",
    })
    void connections(String version, String option, boolean keepsAlive) throws Exception {
        String field = option == null ? "" : "Connection: " + option + "\\r\\n";
        assertEquals(keepsAlive, reader("GET / " + version + "\\r\\n" + field + HOST).read().keepsAlive());
    }

    /** A body is not read, so that what follows it could not be found. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"Content-Length: 0|true", "Content-Length: 10|false", "Transfer-Encoding: chunked|false"})
    void bodies(String field, boolean keepsAlive) throws Exception {
        assertEquals(keepsAlive, reader("GET / HTTP/1.1\\r\\n" + field + "\\r\\n" + HOST).read().keepsAlive());
    }

    @Test
    void fields() throws Exception {
        Request request = reader("GET / HTTP/1.1\\r\\nAccept: a;q=1 \\r\\nX: \\r\\naccept:\\tb, c\\r\\n" + HOST).read();
        assertEquals("a;q=1,b, c", request.header("ACCEPT"));
        assertEquals("", request.header("X"));
        assertEquals("", request.header("Y"));
    }

    @Test
    void requestsFollowEachOther() throws Exception {
        RequestReader reader = reader("GET /a HTTP/1.1\\r\\n" + HOST + "\\r\\nGET /b HTTP/1.0\\n\\nGET /c?d HTTP/1.1\\r\\n" + HOST);
        assertTrue(reader.await());
        assertEquals("/a", reader.read().path());
        assertEquals("/b", reader.read().path());
        Request last = reader.read();
        assertEquals("/c", last.path());
        assertEquals("d", last.query());
        assertFalse(reader.await());
    }

    @Test
    void bounds() throws Exception {
        String longest = "GET /" + "a".repeat(Limits.HEAD_BYTES - "GET / HTTP/1.1\r\nHost: jvm\r\n\r\n".length()) + " HTTP/1.1\r\nHost: jvm\r\n\r\n";
        assertNull(new RequestReader(stream(longest.getBytes())).read().query());
        assertStatus(431, longest.replace("jvm", "jvm2"));
        assertStatus(414, "GET /" + "a".repeat(10_000));
        assertStatus(431, "GET / HTTP/1.1\r\n" + "A: b\r\n".repeat(10_000));
        assertStatus(431, "GET / HTTP/1.1\r\nA: " + "b".repeat(10_000));
    }

    private static void assertStatus(int status, String text) {
        assertEquals(status, assertThrows(BadRequest.class, () -> new RequestReader(stream(text.getBytes())).read()).status());
    }

    /** Requests with anything changed about them, in pieces of any size: each is a request or an error, and there is an end. */
    @Test
    void anythingIsARequestOrAnError() throws Exception {
        long seed = 20260101;
        Random random = new Random(seed);
        List<String> seeds = List.of(
                "GET /metrics?name%5B%5D=a&b=%zz HTTP/1.1\r\nHost: jvm:9404\r\nAccept: text/plain;q=0.5\r\nAccept-Encoding: gzip\r\n\r\n",
                "HEAD /-/healthy HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
                "POST http://jvm/%2e?a HTTP/1.1\nHost:\t[::1]\nContent-Length: 5\n\nhello",
                "\r\nOPTIONS * HTTP/1.1\r\nHost: jvm\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        String dictionary = "\r\n :%/?#*\t\0\u007f\u00ff09aHGETP.,;=[]\"";
        int rounds = System.getenv().getOrDefault("FULL", "").isEmpty() ? 20_000 : 200_000;
        for (int round = 0; round < rounds; round++) {
            StringBuilder text = new StringBuilder(seeds.get(random.nextInt(seeds.size())));
            for (int changes = random.nextInt(6); changes > 0; changes--) {
                int at = random.nextInt(text.length() + 1);
                switch (random.nextInt(5)) {
                    case 0 -> text.insert(at, dictionary.charAt(random.nextInt(dictionary.length())));
                    case 1 -> text.insert(at, (char) random.nextInt(256));
                    case 2 -> text.delete(at, Math.min(text.length(), at + random.nextInt(20)));
                    case 3 -> text.insert(at, text.substring(at, Math.min(text.length(), at + random.nextInt(40))));
                    default -> text.insert(at, String.valueOf(dictionary.charAt(random.nextInt(dictionary.length()))).repeat(random.nextInt(3000)));
                }
            }
            byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
            try {
                readAll(new RequestReader(inPieces(bytes, random)));
            } catch (BadRequest e) {
                assertTrue(e.status() >= 400 && e.status() < 500 || e.status() == 505, e.getMessage());
            } catch (Throwable t) {
                fail("seed " + seed + ", round " + round + ": " + text, t);
            }
        }
    }

    private static void readAll(RequestReader reader) throws Exception {
        while (reader.await()) {
            Request request = reader.read();
            assertFalse(request.method().isEmpty());
            assertTrue(request.path().startsWith("/") || request.path().equals("*"), request.path());
            assertTrue(request.isHttp11() ? request.count("Host") == 1 : request.count("Host") < 2);
            if (!request.keepsAlive()) {
                return;
            }
        }
    }

    private static InputStream inPieces(byte[] bytes, Random random) {
        return new ByteArrayInputStream(bytes) {
            @Override
            public int read(byte[] buffer, int offset, int length) {
                if (length <= 0) {
                    throw new IllegalArgumentException("a read of nothing never ends");
                }
                return super.read(buffer, offset, Math.min(length, 1 + random.nextInt(200)));
            }
        };
    }
}
