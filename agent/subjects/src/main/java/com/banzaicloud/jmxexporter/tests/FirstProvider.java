package com.banzaicloud.jmxexporter.tests;

import java.security.Provider;
import java.security.Security;

/** The application's own TLS and PBKDF2, before the JDK's; each says so when it is made. */
public final class FirstProvider extends Provider {

    private static final long serialVersionUID = 1;

    private FirstProvider() {
        super("First", 1, "makes nothing");
        for (String service : new String[] {"SSLContext.TLS", "TrustManagerFactory.PKIX", "SecretKeyFactory.PBKDF2WithHmacSHA512"}) {
            put(service, Made.class.getName());
        }
    }

    /** As {@link Subject} calls it. */
    public static void register() {
        Security.insertProviderAt(new FirstProvider(), 1);
    }

    /** For the JDK. */
    public static final class Made {
        /** Whatever is asked for. */
        public Made() {
            System.out.println("the application's security provider is used");
        }
    }
}
