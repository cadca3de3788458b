package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
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
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("server", SERVER.certificate());
        trusted.setCertificateEntry("other", OTHER.certificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own, trust.getTrustManagers(), null);
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(context).build();
    }

    HttpResponse<String> get(HttpClient client, String path, String... user) throws IOException {
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
}
