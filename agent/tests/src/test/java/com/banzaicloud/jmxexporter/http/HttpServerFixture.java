package com.banzaicloud.jmxexporter.http;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;

/** A server in the JVM of the tests, and connections to it. */
abstract class HttpServerFixture {

    static final long NEVER = 1_000_000;

    private final List<Socket> sockets = new ArrayList<>();
    /** Calls the server's checks as the trampoline does, but more often. */
    private final ScheduledExecutorService checks = Executors.newSingleThreadScheduledExecutor();
    HttpServer server;

    @AfterEach
    void close() throws IOException {
        checks.shutdownNow();
        for (Socket socket : sockets) {
            socket.close();
        }
        if (server != null) {
            server.close();
        }
    }

    void open(Limits limits, Handler handler) throws IOException {
        openUnchecked(limits, handler);
        checks.scheduleWithFixedDelay(server::check, 0, 20, TimeUnit.MILLISECONDS);
    }

    void openUnchecked(Limits limits, Handler handler) throws IOException {
        server = HttpServer.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), Transport.PLAIN, handler, limits);
    }

    Socket connect() throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.setReceiveBufferSize(4096);
        socket.connect(server.address());
        socket.setSoTimeout(60_000);
        return socket;
    }

    Socket send(String text) throws IOException {
        Socket socket = connect();
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        return socket;
    }

    /** All that comes back until the server closes the connection, with its date replaced. */
    static String answer(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1).replaceAll("Date: [^\r]*GMT\r\n", "<date>");
    }

    static void hello(Request request, Response response) throws IOException {
        response.header("X-Path", request.path());
        if (request.path().equals("/stream")) {
            try (OutputStream out = response.start(200)) {
                out.write("hello ".getBytes());
                out.flush();
                out.write('y');
                out.write("ou".getBytes());
            }
        } else {
            response.send(200, "hello".getBytes());
        }
    }
}
