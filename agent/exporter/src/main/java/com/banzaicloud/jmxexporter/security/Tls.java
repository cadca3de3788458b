package com.banzaicloud.jmxexporter.security;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import java.util.Base64;

/** TLS 1.2 and 1.3 with one certificate, in a context of its own: nothing of the JVM's defaults is read or changed. */
final class Tls {

    /** The context's default keeps thousands of them, on Java 8 all, for a day in the application's heap. */
    private static final int SESSIONS = 64;
    private static final int SESSION_SECONDS = 600;

    private static final Pattern PROTOCOLS = Pattern.compile("TLSv1\\.[23]");
    /** Those with an ephemeral key and authenticated encryption: all of TLS 1.3, and of TLS 1.2 the ones without CBC. */
    private static final Pattern SUITES = Pattern.compile("TLS_(AES|CHACHA20)_.*|TLS_ECDHE_.*_(GCM|CHACHA20)_.*");

    private final SSLContext context;
    /** Null if clients need no certificate. */
    private final X509TrustManager clients;

    private Tls(SSLContext context, X509TrustManager clients) {
        this.context = context;
        this.clients = clients;
    }

    static Tls of(Map<String, String> pairs) throws GeneralSecurityException, InvalidSecurity {
        List<X509Certificate> chain = certificates(pairs.get("certificate"));
        if (chain.isEmpty() || !pairs.containsKey("key")) {
            throw new InvalidSecurity("The security file has no certificate or no key: write both into it.");
        }
        X509TrustManager clients = pairs.containsKey("clientCA") ? trust(certificates(pairs.get("clientCA"))) : null;
        SSLContext context = SSLContext.getInstance("TLS", Jdk.provider("SSLContext", "TLS"));
        context.init(
                new KeyManager[] {new ServerKey(chain, key(chain.get(0).getPublicKey().getAlgorithm(), pairs.get("key")))},
                clients == null ? new TrustManager[0] : new TrustManager[] {clients},
                // Whatever the JVM's default is: it may wait for entropy, or be the application's.
                SecureRandom.getInstance("NativePRNGNonBlocking", Jdk.provider("SecureRandom", "NativePRNGNonBlocking")));
        context.getServerSessionContext().setSessionCacheSize(SESSIONS);
        context.getServerSessionContext().setSessionTimeout(SESSION_SECONDS);
        return new Tls(context, clients);
    }

    private static List<X509Certificate> certificates(String pem) throws GeneralSecurityException, InvalidSecurity {
        CertificateFactory factory = CertificateFactory.getInstance("X.509", Jdk.provider("CertificateFactory", "X.509"));
        List<X509Certificate> certificates = new ArrayList<>();
        byte[] bytes = pem == null ? new byte[0] : pem.getBytes(StandardCharsets.US_ASCII);
        for (Certificate certificate : factory.generateCertificates(new ByteArrayInputStream(bytes))) {
            certificates.add((X509Certificate) certificate);
        }
        return certificates;
    }

    /** PKCS #8 in Base64 without PEM's lines: the helper's side converts what people have. */
    private static PrivateKey key(String algorithm, String base64) throws GeneralSecurityException, InvalidSecurity {
        return KeyFactory.getInstance(algorithm, Jdk.provider("KeyFactory", algorithm))
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)));
    }

    private static X509TrustManager trust(List<X509Certificate> authorities) throws GeneralSecurityException, InvalidSecurity {
        Set<TrustAnchor> anchors = new HashSet<>();
        for (X509Certificate authority : authorities) {
            anchors.add(new TrustAnchor(authority, null));
        }
        PKIXBuilderParameters parameters = new PKIXBuilderParameters(anchors, new X509CertSelector());
        parameters.setRevocationEnabled(false); // It would ask servers that somebody else names.
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX", Jdk.provider("TrustManagerFactory", "PKIX"));
        factory.init(new CertPathTrustManagerParameters(parameters));
        return (X509TrustManager) factory.getTrustManagers()[0];
    }

    /** Shakes hands on a connection. A client without a certificate gets as far as the guard, for the health check's sake. */
    SSLSocket open(Socket accepted) throws IOException {
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(accepted, null, true);
        socket.setEnabledProtocols(only(PROTOCOLS, socket.getSupportedProtocols()));
        socket.setEnabledCipherSuites(only(SUITES, socket.getEnabledCipherSuites()));
        socket.setWantClientAuth(clients != null);
        socket.startHandshake();
        return socket;
    }

    private static String[] only(Pattern chosen, String[] names) {
        List<String> all = new ArrayList<>();
        for (String name : names) {
            if (chosen.matcher(name).matches()) {
                all.add(name);
            }
        }
        return all.toArray(new String[0]);
    }

    /** Reports whether a client has the certificate that it needs by now, whatever was needed when it connected. */
    boolean admits(SSLSocket socket) {
        if (clients == null) {
            return true;
        }
        try {
            Certificate[] presented = socket.getSession().getPeerCertificates();
            X509Certificate[] chain = new X509Certificate[presented.length];
            System.arraycopy(presented, 0, chain, 0, chain.length);
            clients.checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
            return true;
        } catch (SSLPeerUnverifiedException | CertificateException e) {
            return false;
        }
    }
}
