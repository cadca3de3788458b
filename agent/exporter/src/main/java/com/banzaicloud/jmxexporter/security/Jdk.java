package com.banzaicloud.jmxexporter.security;

import java.security.Provider;
import java.security.Security;

/**
 * The JDK's own implementations. What an application registers before them, under whatever name, is not asked for
 * what the agent itself makes; the JDK may still ask it for what TLS is made of, as for the application's own sockets.
 */
final class Jdk {

    private Jdk() {}

    /** The JDK's first provider of an algorithm. */
    static Provider provider(String service, String algorithm) throws InvalidSecurity {
        for (Provider provider : Security.getProviders()) {
            // By loader, since names can be taken, before any method of a foreign provider runs.
            if (isJdk(provider.getClass().getClassLoader()) && provider.getService(service, algorithm) != null) {
                return provider;
            }
        }
        throw new InvalidSecurity("This Java runtime has no " + service + " for " + algorithm
                + " of its own: add it to the runtime's modules and security providers, or use another algorithm.");
    }

    /** The boot loader, and the one between it and the application's. */
    private static boolean isJdk(ClassLoader loader) {
        return loader == null || loader == Jdk.class.getClassLoader().getParent();
    }
}
