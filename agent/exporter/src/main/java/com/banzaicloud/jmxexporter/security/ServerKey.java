package com.banzaicloud.jmxexporter.security;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/** The one key of the endpoint. A KeyStore would encrypt it in memory, beside what decrypts it. */
final class ServerKey extends X509ExtendedKeyManager {

    private static final String ALIAS = "endpoint";

    private final X509Certificate[] chain;
    private final PrivateKey key;

    ServerKey(List<X509Certificate> chain, PrivateKey key) {
        this.chain = chain.toArray(new X509Certificate[0]);
        this.key = key;
    }

    @Override
    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
        return type.equals(key.getAlgorithm()) || type.startsWith(key.getAlgorithm() + "_") ? ALIAS : null;
    }

    @Override
    public String chooseEngineServerAlias(String type, Principal[] issuers, SSLEngine engine) {
        return chooseServerAlias(type, issuers, null);
    }

    @Override
    public String[] getServerAliases(String type, Principal[] issuers) {
        return new String[] {ALIAS};
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
        return chain.clone();
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
        return key;
    }

    @Override
    public String[] getClientAliases(String type, Principal[] issuers) {
        return null;
    }

    @Override
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
        return null;
    }
}
