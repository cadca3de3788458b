package com.banzaicloud.jmxexporter.tests;

import java.io.IOException;
import java.net.ServerSocket;

/** Ports for the agent to serve: nobody gets them by chance, since the kernel gives those from 32768 on, and other test runs have other blocks. */
final class Ports {

    /** Whoever listens on the first port of a block has the others; runs on several versions of Java go side by side. */
    private static final ServerSocket BLOCK = firstOfABlock();
    private static int last = BLOCK.getLocalPort();

    private Ports() {}

    /** A port that nobody has. */
    static synchronized int free() {
        while (true) {
            last++;
            try (ServerSocket socket = new ServerSocket(last)) {
                return socket.getLocalPort();
            } catch (IOException taken) {
                // The next one may be free.
            }
        }
    }

    private static ServerSocket firstOfABlock() {
        for (int first = 10_000; first < 32_000; first += 1000) {
            try {
                return new ServerSocket(first);
            } catch (IOException taken) {
                // By another run.
            }
        }
        throw new IllegalStateException("every block of ports is taken");
    }
}
