package com.banzaicloud.jmxexporter.exporter;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Objects;

/** Where the metrics are to be served. */
final class Address {

    private final String host;
    private final int port;

    private Address(String host, int port) {
        this.host = host;
        this.port = port;
    }

    static Address of(String host, String port) throws Rejection {
        int number;
        try {
            number = Integer.parseInt(port);
        } catch (NumberFormatException e) {
            number = 0;
        }
        if (number < 1 || number > 65535) {
            throw Rejection.failed("The desired port is " + port + ": use one from 1 to 65535.");
        }
        return new Address(host == null ? "" : host, number);
    }

    int port() {
        return port;
    }

    InetSocketAddress resolve() throws Rejection {
        if (host.isEmpty()) {
            return new InetSocketAddress(port);
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(host), port);
        } catch (UnknownHostException e) {
            throw Rejection.failed("The desired host " + host + " cannot be resolved: use an address of the pod, or none for all.");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Address && ((Address) other).port == port && ((Address) other).host.equals(host);
    }

    @Override
    public int hashCode() {
        return Objects.hash(host, port);
    }

    @Override
    public String toString() {
        return (host.isEmpty() ? "*" : host) + ":" + port;
    }
}
