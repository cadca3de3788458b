package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The password of the endpoint: who has it, and what it costs the application that somebody tries. */
class EndpointPasswordTest extends EndpointSecurityFixture {

    /** What the operator makes of a hash of 128 bytes and a salt that is text: a stock exporter 1.0.1 made them. */
    @Test
    void passwordOfTheStockExporter() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(SERVER, Map.of("username", "Prometheus", "algorithm", "PBKDF2WithHmacSHA256", "iterations", "1000",
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
            jvm.load(secured(jvm, "a", pairs(SERVER, Credentials.user(SHA512, 50_000, "prometheus", "secret"))));
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

    /** Whoever tries names cannot tell those that exist: each costs a derivation, and after it a pause. */
    @Test
    @Tag("jvm")
    void wrongNamesAreAnsweredAsWrongPasswords() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(SERVER, Credentials.user(SHA512, 20_000, "prometheus", "secret"))));
            SSLContext context = context(null);
            int clients = 0;
            for (String guess : List.of("prometheus:wrong", "nobody:wrong", "nobody:secret", "prometheus:", "nobody:")) {
                String from = "127.0.1." + ++clients;
                List<Integer> statuses = new ArrayList<>();
                for (int i = 0; i < 10 && !statuses.contains(503); i++) {
                    statuses.add(scrape(context, from, guess));
                }
                assertEquals(401, statuses.get(0), guess);
                assertTrue(statuses.contains(503), guess + ": " + statuses);
            }
            assertUnharmed(jvm);
        }
    }

    /** Guesses from other addresses hold up neither the first scrape nor the first one after the password was changed. */
    @Test
    @Tag("jvm")
    void guessesDoNotStarveTheScraper() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            jvm.load(secured(jvm, "a", pairs(SERVER, Credentials.user(SHA512, 20_000, "prometheus", "secret"))));
            SSLContext context = context(null);
            AtomicBoolean done = new AtomicBoolean();
            Set<Integer> answers = ConcurrentHashMap.newKeySet();
            List<CompletableFuture<Void>> guessers = new ArrayList<>();
            for (String from : List.of("127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3")) {
                guessers.add(CompletableFuture.runAsync(() -> {
                    try {
                        for (int i = 0; !done.get(); i++) {
                            answers.add(scrape(context, from, "prometheus:" + from + i));
                        }
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }, task -> new Thread(task).start()));
            }
            Jvm.until("they guess faster than passwords are derived", () -> answers.containsAll(Set.of(401, 503)));
            List<Integer> statuses = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                statuses.add(scrape(context, "127.0.0.1", "prometheus:secret"));
            }
            jvm.desire(secured(jvm, "b", pairs(SERVER, Credentials.user(SHA512, 20_000, "prometheus", "changed"))));
            statuses.add(scrape(context, "127.0.0.1", "prometheus:changed"));
            done.set(true);
            for (CompletableFuture<Void> guesser : guessers) {
                guesser.get();
            }
            assertEquals(Collections.nCopies(21, 200), statuses);
            assertEquals(Set.of(401, 503), answers);
            assertUnharmed(jvm);
        }
    }

    /** A file decides how much of the application's CPU a wrong password takes: within bounds. One out of them changes nothing. */
    @Test
    void passwordsCostWithinBounds() throws Exception {
        try (Jvm jvm = Jvm.start()) {
            String digest = jvm.load(secured(jvm, "a", pairs(SERVER, Credentials.user(SHA512, 1000, "prometheus", "secret")))).get("security.sha256");
            String hash = Credentials.user(SHA512, 1000, "prometheus", "other").get("passwordHash");
            Map<String, String> values = Map.of("iterations=", "", "iterations=0", "0", "iterations=-1", "-1", "iterations=2000001", "2000001",
                    "iterations=99999999999", "99999999999", "iterations=1e3", "1e3", "passwordHash=", "", "passwordHash=long", hash.repeat(100),
                    "salt=abc", "abc", "algorithm=", "PBEWithMD5AndDES");
            for (Map.Entry<String, String> bad : values.entrySet()) {
                Map<String, String> user = new HashMap<>(Credentials.user(SHA512, 1000, "somebody", "other"));
                user.put(bad.getKey().substring(0, bad.getKey().indexOf('=')), bad.getValue());
                Map<String, String> mark = jvm.desire(secured(jvm, "b", pairs(OTHER, user)));
                assertEquals("running SecurityRejected " + digest, mark.get("state") + " " + mark.get("reason") + " " + mark.get("security.sha256"), bad.getKey());
                for (String secret : List.of(hash, hash.substring(0, 20), OTHER.key().substring(0, 20), user.get("salt").equals("abc") ? hash : user.get("salt"), "somebody")) {
                    assertFalse(mark.toString().contains(secret), mark.toString());
                }
            }
            HttpClient client = client();
            assertEquals(200, get(client, "/metrics", "prometheus:secret").statusCode());
            assertEquals(SERVER.certificate(), get(client, "/-/healthy").sslSession().get().getPeerCertificates()[0]);
            Map<String, String> dear = new HashMap<>(Credentials.user(SHA512, 1000, "prometheus", "secret"));
            dear.put("iterations", "2000000");
            assertFalse(jvm.desire(secured(jvm, "c", pairs(SERVER, dear))).containsKey("reason"), "the most that is taken");
            assertUnharmed(jvm);
        }
    }
}
