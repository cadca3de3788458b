package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.security.SecurityFile;

/** What is to be served, and how: a desired file with the files that it names. */
final class State {

    final Address address;
    /** What secures the endpoint; null if nothing is to. */
    final SecurityFile security;
    final Configuration configuration;
    /** Which JVM this is; null if unknown. */
    final String identity;

    State(Address address, SecurityFile security, Configuration configuration, String identity) {
        this.address = address;
        this.security = security;
        this.configuration = configuration;
        this.identity = identity;
    }
}
