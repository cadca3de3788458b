package com.banzaicloud.jmxexporter.tests;

import java.security.Provider;

/** A security provider of the application, which says so when somebody makes the JVM use it. */
public final class SecurityProvider extends Provider {

    private static final long serialVersionUID = 1;

    /** For the JDK. */
    public SecurityProvider() {
        super("Application", 1, "does nothing");
        System.out.println("the application's security provider is used");
    }
}
