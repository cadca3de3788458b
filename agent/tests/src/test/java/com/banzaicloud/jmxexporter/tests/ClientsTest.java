package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients that mean harm, or know no better, take little of what the application needs, and not the endpoint. */
class ClientsTest {

    private static final int DESCRIPTORS = 200;
    private static final String REQUEST = "GET /metrics HTTP/1.1\r\nHost: jvm\r\n\r\n";

    private final int port = Jvm.freePort();
    private final List<Socket> sockets = new ArrayList<>();
    private Jvm jvm;

    @BeforeEach
    void start() throws Exception {
        jvm = Jvm.limited(DESCRIPTORS, Subject.class.getName(), SlowBean.class.getName());
        jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['java.lang:type=Memory']\n")));
        Scrape.metrics(port);
    }

    @AfterEach
    void applicationIsUnharmed() throws Exception {
        for (Socket socket : sockets) {
            socket.close();
        }
        try (Jvm ended = jvm) {
            assertEquals(0, ended.end());
            assertEquals(List.of(), ended.out().stream().filter(line -> !line.matches("ready|ok")).toList());
            assertEquals(List.of(), ended.err());
        }
    }

    @Test
    @Tag("full")
    void thousandSilentSlowAndHalfClosedConnections() throws Exception {
        long before = jvm.openFiles().size();
        for (int i = 0; i < 1000; i++) {
            Socket socket = connect();
            try {
                if (i % 3 > 0) {
                    socket.getOutputStream().write("GET /metr".getBytes());
                }
                if (i % 3 > 1) {
                    socket.shutdownOutput();
                }
            } catch (IOException closedMeanwhile) {
                // Its time was up.
            }
        }
        assertTrue(jvm.openFiles().size() <= before + 18, jvm.openFiles().toString());
        jvm.tell("open-files " + (DESCRIPTORS - before - 30));
        Jvm.until("the next scrape is answered", () -> answers());
        jvm.tell("close-files");
    }

    @Test
    void oldestIdleConnectionGivesWay() throws Exception {
        Socket first = connect();
        Socket second = connect();
        for (int i = 0; i < 15; i++) {
            connect();
        }
        assertEquals(-1, first.getInputStream().read());
        second.getOutputStream().write("GET /-/healthy HTTP/1.1\r\nHost: jvm\r\n\r\n".getBytes());
        assertEquals('H', second.getInputStream().read());
    }

    @Test
    void requestsByteByByte() throws Exception {
        Socket socket = connect();
        for (byte b : REQUEST.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").getBytes()) {
            socket.getOutputStream().write(b);
            socket.getOutputStream().flush();
        }
        String answer = new String(socket.getInputStream().readAllBytes());
        assertTrue(answer.startsWith("HTTP/1.1 200 OK\r\n"), answer);
        assertTrue(answer.contains("jmx_scrape_error"), answer);
    }

    @Test
    void readersThatNeverRead() throws Exception {
        for (int i = 0; i < 8; i++) {
            Socket socket = new Socket();
            sockets.add(socket);
            socket.setReceiveBufferSize(1024);
            socket.connect(new InetSocketAddress("127.0.0.1", port));
            Thread sender = new Thread(() -> send(socket));
            sender.setDaemon(true);
            sender.start();
        }
        Jvm.until("an answer is not taken", () -> jvm.jcmd("Thread.print").lines().anyMatch(
                line -> line.matches(".*(http\\.Response\\.(send|finish)|AnswerStream\\.flush|ServerImpl.*WriteStream\\.write|httpserver\\.Request\\$WriteStream\\.write)\\(.*")));
        for (int i = 0; i < 3; i++) {
            assertTrue(Scrape.metrics(port).contains("jmx_scrape_error"));
        }
    }

    @Test
    @Tag("full")
    void healthIsAnsweredWhileAScrapeHangs() throws Exception {
        jvm.desire(Desired.running(port, jvm.file("all.yaml", "{}\n")));
        for (int i = 0; i < 20; i++) { // More than the server has connections.
            connect().getOutputStream().write(REQUEST.getBytes());
        }
        Jvm.until("a scrape hangs", () -> jvm.jcmd("Thread.print").contains("SlowBean.read"));
        assertEquals(200, Scrape.get(port, "/-/healthy").statusCode());
        jvm.tell("release");
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket("127.0.0.1", port);
        socket.setSoTimeout(20_000);
        sockets.add(socket);
        return socket;
    }

    private static void send(Socket socket) {
        try {
            while (true) {
                socket.getOutputStream().write(REQUEST.repeat(100).getBytes());
            }
        } catch (IOException ended) {
            // With the test.
        }
    }

    private boolean answers() {
        try {
            return Scrape.metrics(port).contains("jmx_scrape_error");
        } catch (Exception notYet) {
            return false;
        }
    }
}
