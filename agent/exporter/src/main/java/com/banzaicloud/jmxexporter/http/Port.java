package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.channels.ServerSocketChannel;

/** The listening socket. It is reopened when something other than {@link #close} has closed it. */
final class Port {

    private final InetSocketAddress address;
    private ServerSocket socket;
    /** Whether the socket is to be replaced: whoever died inside it may have left a lock held. */
    private boolean stale;
    private boolean closed;

    private Port(ServerSocket socket) {
        this.socket = socket;
        address = (InetSocketAddress) socket.getLocalSocketAddress();
    }

    /** Listens; a BindException says that the port is taken, or the address not ours. */
    static Port open(InetSocketAddress address) throws IOException {
        return new Port(bind(address));
    }

    InetSocketAddress address() {
        return address;
    }

    Socket accept() throws IOException {
        return socket().accept();
    }

    private synchronized ServerSocket socket() throws IOException {
        if (closed) {
            throw new SocketException("closed");
        }
        if (stale || !isOpen()) {
            stale = true;
            shut();
            socket = bind(address);
            stale = false;
        }
        return socket;
    }

    /** Asks below isClosed: a close that ran out of memory halfway has closed the one and not the other. */
    private boolean isOpen() {
        try {
            socket.getReuseAddress();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Has the next call of {@link #accept} listen on a new socket. */
    synchronized void renew() {
        stale = true;
        shut();
    }

    synchronized boolean isClosed() {
        return closed;
    }

    synchronized void close() {
        closed = true;
        shut();
    }

    private void shut() {
        try {
            socket.close();
        } catch (IOException e) {
            // It is as closed as it can be.
        }
    }

    private static ServerSocket bind(InetSocketAddress address) throws IOException {
        ServerSocket socket = unbound();
        try {
            socket.setReuseAddress(true); // Connections that linger after a stop do not hold the port; a listener does.
            socket.bind(address);
            return socket;
        } catch (Throwable t) {
            socket.close();
            throw t;
        }
    }

    /**
     * A plain socket, since an interrupt by the application closes a channel forever. Only where the application
     * makes all plain sockets itself, the server's would be its sockets too: there, it is a channel, reopened if need be.
     */
    private static ServerSocket unbound() throws IOException {
        return applicationMakesSockets() ? ServerSocketChannel.open().socket() : new ServerSocket();
    }

    /** Factories can be set once only. So null is refused if there is one, and else changes nothing. */
    private static boolean applicationMakesSockets() {
        try {
            ServerSocket.setSocketFactory(null);
            Socket.setSocketImplFactory(null);
            return false;
        } catch (IOException e) {
            return true;
        } catch (SecurityException e) {
            return false; // Asked for only where there is none.
        }
    }
}
