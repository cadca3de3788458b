package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.net.Socket;

/** What lies between an accepted socket and HTTP: nothing, or TLS. */
public interface Transport {

    /** HTTP on the socket as it is. */
    Transport PLAIN = new Transport() {
        @Override
        public Socket open(Socket accepted) {
            return accepted;
        }
    };

    /**
     * Returns the socket to speak HTTP on. Called on the connection's own thread; the accepted socket is closed when
     * the first request has not arrived in time, which bounds a handshake too, and at the end.
     */
    Socket open(Socket accepted) throws IOException;
}
