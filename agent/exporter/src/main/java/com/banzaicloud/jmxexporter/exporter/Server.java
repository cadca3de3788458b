package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.http.HttpServer;
import com.banzaicloud.jmxexporter.security.Guard;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;

/** The HTTP endpoint: the metrics on an address. */
final class Server implements AutoCloseable {

    private final Address address;
    private final HttpServer http;

    private Server(Address address, HttpServer http) {
        this.address = address;
        this.http = http;
    }

    /** Answers on the address as this guard lets it. */
    static Server open(Address address, Guard guard) throws Rejection {
        return new Server(address, bind(address, guard));
    }

    private static HttpServer bind(Address address, Guard guard) throws Rejection {
        InetSocketAddress socket = address.resolve();
        try {
            return HttpServer.open(socket, guard, guard);
        } catch (BindException e) {
            if (isOurs(socket) && !String.valueOf(e.getMessage()).contains("Permission denied")) {
                throw Rejection.portInUse("The port " + address.port() + " is in use (" + address + "): choose another one, or free it.");
            }
            throw cannotBind(address, e);
        } catch (IOException e) {
            throw cannotBind(address, e);
        }
    }

    private static Rejection cannotBind(Address address, IOException e) {
        return Rejection.failed("The agent cannot listen on " + address + " (" + e.getMessage()
                + "): use an address of the pod, or none for all, and a port from 1024 on.");
    }

    private static boolean isOurs(InetSocketAddress socket) {
        try {
            return socket.getAddress().isAnyLocalAddress() || NetworkInterface.getByInetAddress(socket.getAddress()) != null;
        } catch (IOException e) {
            return true;
        }
    }

    Address address() {
        return address;
    }

    /** As {@link HttpServer#check}. */
    void check() {
        http.check();
    }

    /** Closes the port; a scrape that is inside the application's code is left to come out by itself. */
    @Override
    public void close() {
        http.close();
    }
}
