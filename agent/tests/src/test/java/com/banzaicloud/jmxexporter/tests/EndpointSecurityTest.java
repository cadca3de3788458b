package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The endpoint over TLS, with client certificates and a password; changed while it serves. */
class EndpointSecurityTest extends EndpointSecurityFixture {

    @Test
    @Tag("jvm")
    void servesByTlsAndPasswordOnly() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            for (String algorithm : List.of("PBKDF2WithHmacSHA1", "PBKDF2WithHmacSHA256", SHA512)) {
                Desired desired = secured(jvm, algorithm, pairs(SERVER, Credentials.user(algorithm, 1000, "prometheus", "pässword")));
                Map<String, String> mark = jvm.load(desired);
                assertEquals("running", mark.get("state"), mark.toString());
                assertFalse(mark.containsKey("reason"), mark.toString());
                assertEquals(64, mark.get("security.sha256").length());
                assertThrows(IOException.class, () -> Scrape.get(port, "/metrics"));
                HttpClient client = client();
                assertEquals(200, get(client, "/-/healthy").statusCode());
                assertEquals(401, get(client, "/metrics").statusCode());
                assertEquals(401, get(client, "/metrics", "nobody:pässword").statusCode());
                Jvm.until("a wrong password is refused", () -> get(client, "/metrics", "prometheus:wrong").statusCode() == 401);
                Jvm.until("the right password is taken", () -> get(client, "/metrics", "prometheus:pässword").statusCode() == 200);
                assertEquals(401, get(client, "/other").statusCode());
            }
            assertUnharmed(jvm);
        }
    }

    /** Of TLS 1.2, only suites with an ephemeral key and authenticated encryption are negotiated. */
    @Test
    @Tag("jvm")
    void suitesWithoutAuthenticatedEncryptionAreRefused() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(SERVER, Map.of())));
            SSLContext context = context(null);
            Map<String, String> negotiated = new HashMap<>();
            for (String suite : context.getSupportedSSLParameters().getCipherSuites()) {
                try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
                    socket.setEnabledCipherSuites(new String[] {suite});
                    socket.startHandshake();
                    negotiated.put(suite, socket.getSession().getProtocol());
                } catch (IOException e) {
                    // It is refused.
                }
            }
            assertTrue(negotiated.containsValue("TLSv1.2"), negotiated.toString());
            negotiated.keySet().removeIf(suite -> suite.matches("TLS_(AES|CHACHA20)_.*|TLS_ECDHE_RSA_WITH_(AES_(128|256)_GCM|CHACHA20_POLY1305)_.*"));
            assertEquals(Map.of(), negotiated);
            assertUnharmed(jvm);
        }
    }

    @Test
    void clientCertificateIsRequired() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(OTHER, Map.of("clientCA", SCRAPER.pem()))));
            assertEquals(200, get(client(), "/-/healthy").statusCode());
            assertEquals(403, get(client(), "/metrics").statusCode());
            assertEquals(403, get(client(SERVER), "/metrics").statusCode(), "a certificate of somebody else is not even sent");
            HttpClient insistent = client(new KeyManager[] {SERVER.insistent()});
            assertThrows(IOException.class, () -> get(insistent, "/metrics"), "it is sent all the same, and ends the handshake");
            HttpClient good = client(SCRAPER);
            assertEquals(200, get(good, "/metrics").statusCode());

            jvm.desire(secured(jvm, "b", pairs(OTHER, Map.of("clientCA", SERVER.pem()))));
            assertEquals(403, get(good, "/metrics").statusCode(), "a connection from before");
            assertEquals(200, get(client(SERVER), "/metrics").statusCode());
            assertUnharmed(jvm);
        }
    }

    /** Health says to anybody that MBeans are missing; which ones, only where everybody may read the metrics. */
    @Test
    void healthNamesNothingThatTheMetricsKeep() throws Exception {
        Map<String, String> user = Credentials.user(SHA512, 1000, "prometheus", "secret");
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            Path config = jvm.file("some.yaml", "includeObjectNames: ['attributes:*', 'healthy:*']\n");
            jvm.load(secured(jvm, "a", pairs(SERVER, Map.of())).config(config));
            assertEquals("skipped=1&skipped.reason=MBeanUnreadable&skipped.domain=attributes", notices(client()));
            jvm.desire(secured(jvm, "b", pairs(SERVER, user)).config(config));
            assertEquals("skipped=1&skipped.reason=MBeanUnreadable", notices(client(), "prometheus:secret"));
            jvm.desire(secured(jvm, "c", pairs(SERVER, Map.of("clientCA", SCRAPER.pem()))).config(config));
            assertEquals("skipped=1&skipped.reason=MBeanUnreadable", notices(client()));
            assertEquals("skipped=1&skipped.reason=MBeanUnreadable&skipped.domain=attributes", notices(client(SCRAPER)));
            assertUnharmed(jvm);
        }
    }

    private String notices(HttpClient client, String... user) throws Exception {
        HttpResponse<String> response = get(client, "/-/healthy", user);
        assertEquals(200, response.statusCode());
        return response.headers().firstValue("Jmx-Exporter-Notices").orElse("none");
    }

    @Test
    @Tag("full")
    void certificateIsRotatedUnderScrapes() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            Desired[] files = {secured(jvm, "a", pairs(SERVER, Map.of())), secured(jvm, "b", pairs(OTHER, Map.of()))};
            jvm.load(files[0]);
            AtomicBoolean done = new AtomicBoolean();
            AtomicInteger scrapes = new AtomicInteger();
            CompletableFuture<Void> scraping = CompletableFuture.runAsync(() -> {
                try {
                    for (HttpClient kept = client(); !done.get(); scrapes.incrementAndGet()) {
                        assertEquals(200, get(kept, "/metrics").statusCode());
                        assertEquals(200, get(client(), "/metrics").statusCode());
                    }
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            for (int i = 1; i <= 6; i++) {
                int before = scrapes.get();
                Map<String, String> mark = jvm.desire(secured(jvm, "f" + i, pairs(i % 2 == 0 ? SERVER : OTHER, Map.of())));
                assertFalse(mark.containsKey("reason"), mark.toString());
                assertEquals("1", mark.get("loads"));
                assertEquals(i % 2 == 0 ? SERVER.certificate() : OTHER.certificate(),
                        get(client(), "/-/healthy").sslSession().get().getPeerCertificates()[0]);
                Jvm.until("it is scraped", () -> scrapes.get() > before + 1 || scraping.isDone());
            }
            done.set(true);
            scraping.get();
            assertUnharmed(jvm);
        }
    }

    /** Kept-alive connections in the clear are served no longer. */
    @Test
    void plainBecomesSecured() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(plain(jvm));
            try (Socket kept = new Socket("127.0.0.1", port)) {
                assertEquals("HTTP/1.1 200 OK", status(kept));
                Map<String, String> mark = jvm.desire(secured(jvm, "a", pairs(SERVER, Map.of())));
                assertFalse(mark.containsKey("reason"), mark.toString());
                assertEquals("HTTP/1.1 403 Forbidden", status(kept));
            }
            assertEquals(200, get(client(), "/metrics").statusCode());
            assertFalse(jvm.desire(plain(jvm)).containsKey("security.sha256"));
            assertEquals(200, Scrape.get(port, "/metrics").statusCode());
            assertUnharmed(jvm);
        }
    }

    @Test
    void nothingIsServedInTheClearInstead() throws Exception {
        Map<String, String> noKey = new HashMap<>(pairs(SERVER, Map.of()));
        noKey.remove("key");
        Map<String, String> otherKey = new HashMap<>(pairs(SERVER, Map.of()));
        otherKey.put("key", OTHER.key());
        try (Jvm jvm = Jvm.start()) {
            List<Desired> bad = List.of(secured(jvm, "a", noKey), secured(jvm, "b", otherKey),
                    secured(jvm, "c", pairs(SERVER, Map.of("username", "somebody"))),
                    secured(jvm, "d", pairs(SERVER, Map.of())).with("security.sha256", "0"),
                    secured(jvm, "e", pairs(SERVER, Map.of())).with("security.sha256", null));
            jvm.load(bad.get(0));
            for (Desired desired : bad) {
                Map<String, String> mark = jvm.desire(desired);
                assertEquals("failed SecurityRejected", mark.get("state") + " " + mark.get("reason"));
                assertFalse(mark.get("message").contains(SERVER.key().substring(0, 20)) || mark.get("message").contains("somebody"), mark.toString());
                assertTrue(Scrape.refused(port));
            }
            assertEquals("running", jvm.desire(secured(jvm, "g", pairs(SERVER, Map.of()))).get("state"));
            assertEquals("running SecurityRejected", jvm.desire(bad.get(1)).entrySet().stream()
                    .filter(pair -> pair.getKey().matches("state|reason")).sorted(Map.Entry.<String, String>comparingByKey().reversed())
                    .map(Map.Entry::getValue).reduce((a, b) -> a + " " + b).get());
            assertEquals(200, get(client(), "/metrics").statusCode());
            assertUnharmed(jvm);
        }
    }

    @Test
    void silentClientsAreClosed() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(SERVER, Map.of())));
            List<Socket> silent = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                silent.add(new Socket("127.0.0.1", port));
            }
            assertEquals(200, get(client(), "/metrics").statusCode());
            for (Socket socket : silent) {
                socket.setSoTimeout(60_000);
                assertEquals(-1, socket.getInputStream().read());
                socket.close();
            }
            jvm.desire(Desired.stopped());
            assertTrue(Scrape.refused(port));
            Jvm.until("no thread is left", () -> jvm.threads("jmx-exporter-http.*").isEmpty());
            assertUnharmed(jvm);
        }
    }

    /** What the application put before the JDK's own TLS is not used for the endpoint. */
    @Test
    @Tag("jvm")
    void applicationHasTlsOfItsOwn() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), FirstProvider.class.getName())) {
            Map<String, String> more = new HashMap<>(Credentials.user(SHA512, 1000, "prometheus", "secret"));
            more.put("clientCA", OTHER.pem());
            assertEquals("running", jvm.load(secured(jvm, "a", pairs(SERVER, more))).get("state"));
            assertEquals(200, get(client(OTHER), "/metrics", "prometheus:secret").statusCode());
            assertUnharmed(jvm);
        }
    }

    /** Of a request for health on a connection that is kept; nothing is left to read of the answer. */
    private static String status(Socket socket) throws IOException {
        socket.getOutputStream().write("HEAD /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
        StringBuilder answer = new StringBuilder();
        while (answer.indexOf("\r\n\r\n") < 0) {
            int read = socket.getInputStream().read();
            if (read < 0) {
                throw new IOException("closed after " + answer);
            }
            answer.append((char) read);
        }
        return answer.substring(0, answer.indexOf("\r"));
    }
}
