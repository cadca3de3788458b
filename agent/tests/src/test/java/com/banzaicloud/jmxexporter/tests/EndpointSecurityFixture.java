package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** An endpoint with a security file, and clients of it. */
abstract class EndpointSecurityFixture {

    static final String SHA512 = "PBKDF2WithHmacSHA512";

    static final Credentials SERVER;
    static final Credentials OTHER;
    static final Credentials SCRAPER;

    static {
        try {
            Path directory = Files.createTempDirectory("credentials");
            SERVER = Credentials.make(directory, "server", "RSA", "-keysize", "2048");
            OTHER = Credentials.make(directory, "other", "EC", "-groupname", "secp256r1");
            SCRAPER = Credentials.make(directory, "scraper", "EC", "-groupname", "secp256r1");
            Files.delete(directory);
        } catch (Exception e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final int port = Jvm.freePort();

    static void assertUnharmed(Jvm jvm) throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
    }

    Desired plain(Jvm jvm) throws Exception {
        return Desired.running(port, jvm.file("config.yaml", "{}\n"));
    }

    Desired secured(Jvm jvm, String name, Map<String, String> pairs) throws Exception {
        Path file = jvm.file("security-" + name, Credentials.encode(pairs));
        return plain(jvm).with("security", file.toString()).with("security.sha256", Desired.sha256(file));
    }

    static Map<String, String> pairs(Credentials own, Map<String, String> more) throws Exception {
        Map<String, String> pairs = new HashMap<>(more);
        pairs.put("certificate", own.pem());
        pairs.put("key", own.key());
        return pairs;
    }

    HttpClient client() throws Exception {
        return client((KeyManager[]) null);
    }

    HttpClient client(Credentials own) throws Exception {
        return client(own.keys().getKeyManagers());
    }

    HttpClient client(KeyManager[] own) throws Exception {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(context(own)).build();
    }

    static SSLContext context(KeyManager[] own) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("server", SERVER.certificate());
        trusted.setCertificateEntry("other", OTHER.certificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own, trust.getTrustManagers(), null);
        return context;
    }

    /** The status of a scrape from an address of this machine, on a connection of its own. */
    int scrape(SSLContext context, String from, String credentials) throws IOException {
        try (Socket socket = context.getSocketFactory().createSocket()) {
            socket.bind(new InetSocketAddress(from, 0));
            socket.connect(new InetSocketAddress("127.0.0.1", port));
            socket.getOutputStream().write(("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: " + basic(credentials) + "\r\n\r\n").getBytes());
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return Integer.parseInt(answer.split(" ")[1]);
        }
    }

    private static String basic(String credentials) {
        return "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
    }

    HttpResponse<String> get(HttpClient client, String path, String... user) throws IOException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path));
        for (String credentials : user) {
            request.header("Authorization", basic(credentials));
        }
        try {
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
