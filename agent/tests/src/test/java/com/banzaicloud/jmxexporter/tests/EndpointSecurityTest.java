package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The endpoint over TLS, with client certificates and a password; changed while it serves. */
class EndpointSecurityTest {

    private static final String SHA512 = "PBKDF2WithHmacSHA512";

    private static Credentials server;
    private static Credentials other;
    private static Credentials scraper;

    private final int port = Jvm.freePort();

    @BeforeAll
    static void make(@TempDir Path directory) throws Exception {
        server = Credentials.make(directory, "server", "RSA", "-keysize", "2048");
        other = Credentials.make(directory, "other", "EC", "-groupname", "secp256r1");
        scraper = Credentials.make(directory, "scraper", "EC", "-groupname", "secp256r1");
    }

    @Test
    @Tag("jvm")
    void servesByTlsAndPasswordOnly() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            for (String algorithm : List.of("PBKDF2WithHmacSHA1", "PBKDF2WithHmacSHA256", SHA512)) {
                Desired desired = secured(jvm, algorithm, pairs(server, Credentials.user(algorithm, 1000, "prometheus", "pässword")));
                Map<String, String> mark = jvm.load(desired);
                assertEquals("running", mark.get("state"), mark.toString());
                assertFalse(mark.containsKey("reason"), mark.toString());
                assertEquals(64, mark.get("security.sha256").length());
                assertThrows(IOException.class, () -> Scrape.get(port, "/metrics"));
                HttpClient client = client();
                assertEquals(200, get(client, "/-/healthy").statusCode());
                assertEquals(401, get(client, "/metrics").statusCode());
                assertEquals(401, get(client, "/metrics", "nobody:pässword").statusCode());
                assertEquals(401, get(client, "/metrics", "prometheus:wrong").statusCode());
                Jvm.until("the right password is taken", () -> get(client, "/metrics", "prometheus:pässword").statusCode() == 200);
                assertEquals(401, get(client, "/other").statusCode());
            }
            assertUnharmed(jvm);
        }
    }

    /** What the operator makes of a hash of 128 bytes and a salt that is text: a stock exporter 1.0.1 made them. */
    @Test
    void passwordOfTheStockExporter() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(server, Map.of("username", "Prometheus", "algorithm", "PBKDF2WithHmacSHA256", "iterations", "1000",
                    "salt", HexFormat.of().formatHex("98LeBWIjca".getBytes(StandardCharsets.UTF_8)),
                    "passwordHash", "b69c5c8a103e417bba18fce1f20cbcd96570d353ab97ee2f3fa888af43eae6d7"))));
            assertEquals(200, get(client(), "/metrics", "Prometheus:secret").statusCode());
            assertEquals(401, get(client(), "/metrics", "Prometheus:other").statusCode());
            assertUnharmed(jvm);
        }
    }

    /** Who tries passwords gets no more than a part of one CPU; who had the right one is not held up. */
    @Test
    void wrongPasswordsAreFew() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(server, Credentials.user(SHA512, 50_000, "prometheus", "secret"))));
            HttpClient client = client();
            assertEquals(200, get(client, "/metrics", "prometheus:secret").statusCode());
            List<Integer> statuses = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                statuses.add(get(client, "/metrics", "prometheus:wrong" + i).statusCode());
                assertEquals(200, get(client, "/metrics", "prometheus:secret").statusCode());
            }
            assertEquals(401, statuses.get(0));
            assertTrue(statuses.contains(503), statuses.toString());
            assertUnharmed(jvm);
        }
    }

    @Test
    void clientCertificateIsRequired() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(other, Map.of("clientCA", scraper.pem()))));
            assertEquals(200, get(client(), "/-/healthy").statusCode());
            assertEquals(403, get(client(), "/metrics").statusCode());
            assertEquals(403, get(client(server), "/metrics").statusCode(), "a certificate of somebody else is not even sent");
            HttpClient insistent = client(new KeyManager[] {server.insistent()});
            assertThrows(IOException.class, () -> get(insistent, "/metrics"), "it is sent all the same, and ends the handshake");
            HttpClient good = client(scraper);
            assertEquals(200, get(good, "/metrics").statusCode());

            jvm.desire(secured(jvm, "b", pairs(other, Map.of("clientCA", server.pem()))));
            assertEquals(403, get(good, "/metrics").statusCode(), "a connection from before");
            assertEquals(200, get(client(server), "/metrics").statusCode());
            assertUnharmed(jvm);
        }
    }

    /** Health says to anybody that MBeans are missing; which ones, only where everybody may read the metrics. */
    @Test
    void healthNamesNothingThatTheMetricsKeep() throws Exception {
        Map<String, String> user = Credentials.user(SHA512, 1000, "prometheus", "secret");
        try (Jvm jvm = Jvm.run(Subject.class.getName(), BrokenBeans.class.getName())) {
            jvm.load(secured(jvm, "a", pairs(server, Map.of())));
            assertEquals("skipped=5&skipped.reason=MBeanUnreadable&skipped.domain=attributes", notices(client()));
            jvm.desire(secured(jvm, "b", pairs(server, user)));
            assertEquals("skipped=5&skipped.reason=MBeanUnreadable", notices(client(), "prometheus:secret"));
            jvm.desire(secured(jvm, "c", pairs(server, Map.of("clientCA", scraper.pem()))));
            assertEquals("skipped=5&skipped.reason=MBeanUnreadable", notices(client()));
            assertEquals("skipped=5&skipped.reason=MBeanUnreadable&skipped.domain=attributes", notices(client(scraper)));
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
            Desired[] files = {secured(jvm, "a", pairs(server, Map.of())), secured(jvm, "b", pairs(other, Map.of()))};
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
                Map<String, String> mark = jvm.desire(secured(jvm, "f" + i, pairs(i % 2 == 0 ? server : other, Map.of())));
                assertFalse(mark.containsKey("reason"), mark.toString());
                assertEquals("1", mark.get("loads"));
                assertEquals(i % 2 == 0 ? server.certificate() : other.certificate(),
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
                Map<String, String> mark = jvm.desire(secured(jvm, "a", pairs(server, Map.of())));
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
        Map<String, String> noKey = new HashMap<>(pairs(server, Map.of()));
        noKey.remove("key");
        Map<String, String> otherKey = new HashMap<>(pairs(server, Map.of()));
        otherKey.put("key", other.key());
        try (Jvm jvm = Jvm.start()) {
            List<Desired> bad = List.of(secured(jvm, "a", noKey), secured(jvm, "b", otherKey),
                    secured(jvm, "c", pairs(server, Map.of("username", "somebody"))),
                    secured(jvm, "d", pairs(server, Map.of())).with("security.sha256", "0"),
                    secured(jvm, "e", pairs(server, Map.of())).with("security.sha256", null));
            jvm.load(bad.get(0));
            for (Desired desired : bad) {
                Map<String, String> mark = jvm.desire(desired);
                assertEquals("failed SecurityRejected", mark.get("state") + " " + mark.get("reason"));
                assertFalse(mark.get("message").contains(server.key().substring(0, 20)) || mark.get("message").contains("somebody"), mark.toString());
                assertTrue(Scrape.refused(port));
            }
            assertEquals("running", jvm.desire(secured(jvm, "g", pairs(server, Map.of()))).get("state"));
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
            jvm.load(secured(jvm, "a", pairs(server, Map.of())));
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

    /** A file decides how much of the application's CPU a wrong password takes: within bounds. One out of them changes nothing. */
    @Test
    void passwordsCostWithinBounds() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            String digest = jvm.load(secured(jvm, "a", pairs(server, Credentials.user(SHA512, 1000, "prometheus", "secret")))).get("security.sha256");
            String hash = Credentials.user(SHA512, 1000, "prometheus", "other").get("passwordHash");
            Map<String, String> values = Map.of("iterations=", "", "iterations=0", "0", "iterations=-1", "-1", "iterations=2000001", "2000001",
                    "iterations=99999999999", "99999999999", "iterations=1e3", "1e3", "passwordHash=", "", "passwordHash=long", hash.repeat(100),
                    "salt=abc", "abc", "algorithm=", "PBEWithMD5AndDES");
            for (Map.Entry<String, String> bad : values.entrySet()) {
                Map<String, String> user = new HashMap<>(Credentials.user(SHA512, 1000, "somebody", "other"));
                user.put(bad.getKey().substring(0, bad.getKey().indexOf('=')), bad.getValue());
                Map<String, String> mark = jvm.desire(secured(jvm, "b", pairs(other, user)));
                assertEquals("running SecurityRejected " + digest, mark.get("state") + " " + mark.get("reason") + " " + mark.get("security.sha256"), bad.getKey());
                for (String secret : List.of(hash, hash.substring(0, 20), other.key().substring(0, 20), user.get("salt").equals("abc") ? hash : user.get("salt"), "somebody")) {
                    assertFalse(mark.toString().contains(secret), mark.toString());
                }
            }
            HttpClient client = client();
            assertEquals(200, get(client, "/metrics", "prometheus:secret").statusCode());
            assertEquals(server.certificate(), get(client, "/-/healthy").sslSession().get().getPeerCertificates()[0]);
            Map<String, String> dear = new HashMap<>(Credentials.user(SHA512, 1000, "prometheus", "secret"));
            dear.put("iterations", "2000000");
            assertFalse(jvm.desire(secured(jvm, "c", pairs(server, dear))).containsKey("reason"), "the most that is taken");
            assertUnharmed(jvm);
        }
    }

    /** What the application put before the JDK's own TLS is not used for the endpoint. */
    @Test
    @Tag("jvm")
    void applicationHasTlsOfItsOwn() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), FirstProvider.class.getName())) {
            Map<String, String> more = new HashMap<>(Credentials.user(SHA512, 1000, "prometheus", "secret"));
            more.put("clientCA", other.pem());
            assertEquals("running", jvm.load(secured(jvm, "a", pairs(server, more))).get("state"));
            assertEquals(200, get(client(other), "/metrics", "prometheus:secret").statusCode());
            assertUnharmed(jvm);
        }
    }

    private static void assertUnharmed(Jvm jvm) throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
    }

    private Desired plain(Jvm jvm) throws Exception {
        return Desired.running(port, jvm.file("config.yaml", "{}\n"));
    }

    private Desired secured(Jvm jvm, String name, Map<String, String> pairs) throws Exception {
        Path file = jvm.file("security-" + name, Credentials.encode(pairs));
        return plain(jvm).with("security", file.toString()).with("security.sha256", Desired.sha256(file));
    }

    private static Map<String, String> pairs(Credentials server, Map<String, String> more) throws Exception {
        Map<String, String> pairs = new HashMap<>(more);
        pairs.put("certificate", server.pem());
        pairs.put("key", server.key());
        return pairs;
    }

    private HttpClient client() throws Exception {
        return client((KeyManager[]) null);
    }

    private HttpClient client(Credentials own) throws Exception {
        return client(own.keys().getKeyManagers());
    }

    private HttpClient client(KeyManager[] own) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("server", server.certificate());
        trusted.setCertificateEntry("other", other.certificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own, trust.getTrustManagers(), null);
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(context).build();
    }

    private HttpResponse<String> get(HttpClient client, String path, String... user) throws IOException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path));
        for (String credentials : user) {
            request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8)));
        }
        try {
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
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
