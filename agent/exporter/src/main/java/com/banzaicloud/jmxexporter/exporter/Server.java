package com.banzaicloud.jmxexporter.exporter;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The HTTP endpoint. Its threads are few, daemons, and end when nobody asks. */
final class Server implements AutoCloseable {

    private static final int THREADS = 4;
    private static final int WAITING = 32;

    private final Address address;
    private final HttpServer http;
    private final ThreadPoolExecutor threads;
    private final ScrapeHandler handler;

    private Server(Address address, HttpServer http, Metrics metrics, String identity) {
        this.address = address;
        this.http = http;
        threads = new ThreadPoolExecutor(THREADS, THREADS, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING), Server::thread);
        threads.allowCoreThreadTimeOut(true);
        handler = new ScrapeHandler(metrics, identity);
    }

    /** Shows these metrics on the address, as this JVM's; the identity may be null. */
    static Server open(Address address, Metrics metrics, String identity) throws Rejection {
        Server server = new Server(address, bind(address), metrics, identity);
        try {
            server.http.setExecutor(server.threads);
            server.http.createContext("/", server.handler);
            server.http.start();
            return server;
        } catch (Throwable t) { // No thread to be had, say: the port must not stay taken.
            server.close();
            throw t;
        }
    }

    private static HttpServer bind(Address address) throws Rejection {
        InetSocketAddress socket = address.resolve();
        try {
            return HttpServer.create(socket, 0);
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

    /** Shows these metrics from the next scrape on, under this identity. */
    void show(Metrics metrics, String identity) {
        handler.show(metrics, identity);
    }

    /**
     * Closes the port and every connection, and waits a moment for the threads. None is interrupted: in an MBean of
     * the application, that closes the channel which it reads or writes for good. Such a scrape ends when the MBean
     * answers, and its own answer goes nowhere; every other thread ends with its connection.
     */
    @Override
    public void close() {
        http.stop(0);
        threads.getQueue().clear();
        threads.shutdown();
        try {
            threads.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            // They end by themselves.
        }
    }

    private static final AtomicInteger NUMBER = new AtomicInteger();

    /** MBeans are asked on this thread, so it looks like one of the application's. */
    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "jmx-exporter-http-" + NUMBER.incrementAndGet());
        thread.setDaemon(true);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
        return thread;
    }
}
