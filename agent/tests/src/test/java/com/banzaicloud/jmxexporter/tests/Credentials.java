package com.banzaicloud.jmxexporter.tests;

import java.io.InputStream;
import java.net.Socket;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.stream.Collectors;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/** A key and its certificate, signed by itself. */
record Credentials(KeyStore store) {

    private static final char[] PASSWORD = "changeit".toCharArray();

    static Credentials make(Path directory, String name, String... algorithm) throws Exception {
        Path file = directory.resolve(name + ".p12");
        Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin/keytool").toString(), "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-genkeypair", "-alias", "key",
                "-keystore", file.toString(), "-storetype", "PKCS12", "-storepass", "changeit", "-dname", "CN=" + name, "-ext", "san=ip:127.0.0.1",
                "-keyalg", algorithm[0], algorithm[1], algorithm[2]).redirectErrorStream(true).start();
        String said = new String(keytool.getInputStream().readAllBytes());
        if (keytool.waitFor() != 0) {
            throw new IllegalStateException(said);
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        Files.delete(file);
        return new Credentials(store);
    }

    X509Certificate certificate() throws Exception {
        return (X509Certificate) store.getCertificate("key");
    }

    String pem() throws Exception {
        return "-----BEGIN CERTIFICATE-----\n" + Base64.getMimeEncoder().encodeToString(certificate().getEncoded()) + "\n-----END CERTIFICATE-----\n";
    }

    String key() throws Exception {
        return Base64.getEncoder().encodeToString(store.getKey("key", PASSWORD).getEncoded());
    }

    KeyManagerFactory keys() throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, PASSWORD);
        return keys;
    }

    /** Sends the certificate whatever authorities the server names. */
    X509ExtendedKeyManager insistent() throws Exception {
        X509ExtendedKeyManager keys = (X509ExtendedKeyManager) keys().getKeyManagers()[0];
        String alias = keys.getClientAliases(certificate().getPublicKey().getAlgorithm(), null)[0];
        return new X509ExtendedKeyManager() {
            @Override
            public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
                return alias;
            }

            @Override
            public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
                return alias;
            }

            @Override
            public String[] getClientAliases(String type, Principal[] issuers) {
                return new String[] {alias};
            }

            @Override
            public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
                return null;
            }

            @Override
            public String[] getServerAliases(String type, Principal[] issuers) {
                return null;
            }

            @Override
            public X509Certificate[] getCertificateChain(String alias) {
                return keys.getCertificateChain(alias);
            }

            @Override
            public PrivateKey getPrivateKey(String alias) {
                return keys.getPrivateKey(alias);
            }
        };
    }

    /** The pairs of a user. */
    static Map<String, String> user(String algorithm, int iterations, String name, String password) throws Exception {
        byte[] salt = {1, 2, 3, 4, 5, 6, 7, (byte) 0xff};
        byte[] hash = SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password.toCharArray(), salt, iterations, 256)).getEncoded();
        return Map.of("username", name, "passwordHash", HexFormat.of().formatHex(hash), "salt", HexFormat.of().formatHex(salt),
                "algorithm", algorithm, "iterations", String.valueOf(iterations));
    }

    static String encode(Map<String, String> pairs) {
        return pairs.entrySet().stream().map(pair -> pair.getKey() + "=" + URLEncoder.encode(pair.getValue(), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&"));
    }
}
