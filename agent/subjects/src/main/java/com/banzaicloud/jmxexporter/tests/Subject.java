package com.banzaicloud.jmxexporter.tests;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketImpl;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Properties;
import java.util.TreeSet;
import java.util.logging.Logger;

/**
 * The application that agents are loaded into. It does what its input says, line by line, acknowledges each
 * line with "ok" and ends when the input does. It touches neither MBeans nor logging unless a line says so.
 */
public final class Subject {

    private static final Thread SLEEPER = new Thread(Subject::sleep, "application");
    private static final Deque<FileInputStream> FILES = new ArrayDeque<>();
    private static final Object LOCK = new Object();
    private static ServerSocket busy;

    private Subject() {}

    public static void main(String[] args) throws Exception {
        for (String register : args) {
            Class.forName(register).getMethod("register").invoke(null);
        }
        SLEEPER.setDaemon(true);
        SLEEPER.start();
        PrintStream out = System.out;
        out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "listen":
                    busy = new ServerSocket(Integer.parseInt(words[1]));
                    break;
                case "close":
                    busy.close();
                    break;
                case "set":
                    System.setProperty(words[1], words[2]);
                    break;
                case "replace-properties":
                    Properties properties = new Properties();
                    properties.setProperty("line.separator", "\n"); // Without it, nobody can list them on Java 8.
                    System.setProperties(properties);
                    break;
                case "interrupt":
                    Thread.getAllStackTraces().keySet().stream()
                            .filter(thread -> thread != Thread.currentThread()).forEach(Thread::interrupt);
                    break;
                case "mbeans":
                    out.println(new TreeSet<>(ManagementFactory.getPlatformMBeanServer().queryNames(null, null)));
                    break;
                case "release":
                    SlowBean.release();
                    break;
                case "mend":
                    BrokenBeans.mend();
                    break;
                case "asked":
                    out.println(BrokenBeans.asked());
                    break;
                case "run":
                    out.println(run(Arrays.copyOfRange(words, 1, words.length)));
                    break;
                case "starved":
                    out.println(ManyBeans.starved());
                    break;
                case "collections":
                    out.println(ManyBeans.collections());
                    break;
                case "calls":
                    out.println(SlowBean.calls());
                    break;
                case "report":
                    out.println(SlowBean.report());
                    break;
                case "log":
                    Logger.getLogger("application").info("about the application");
                    break;
                case "open-files":
                    openFiles(Integer.parseInt(words[1]));
                    break;
                case "close-files":
                    closeFiles();
                    break;
                case "fill-heap":
                    fillHeap();
                    continue; // It has said "ok" itself.
                case "free-heap": // Having read this line, it has.
                    break;
                case "litter":
                    litter();
                    break;
                case "start-threads":
                    out.println(startThreads(Integer.parseInt(words[1])));
                    break;
                case "stop-threads":
                    stopThreads(words[1]);
                    break;
                case "break-sockets":
                    breakSockets();
                    break;
                case "break-streams":
                    System.setOut(new PrintStream(new Broken()));
                    System.setErr(new PrintStream(new Broken()));
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
            out.println("ok");
        }
    }

    /** What a child process prints, in one line. */
    private static String run(String... command) throws IOException {
        StringBuilder output = new StringBuilder();
        Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(child.getInputStream()))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                output.append(line).append("; ");
            }
        }
        return output.toString();
    }

    /** Opens so many files, and says so if it cannot. */
    private static void openFiles(int count) {
        try {
            for (int i = 0; i < count; i++) {
                FILES.add(new FileInputStream("/dev/null"));
            }
        } catch (IOException e) {
            System.out.println("no more than " + FILES.size() + " files: " + e.getMessage());
        }
    }

    private static void closeFiles() throws IOException {
        while (!FILES.isEmpty()) {
            FILES.remove().close();
        }
    }

    /** Leaves nobody any memory, from the "ok" on that it prints itself until the next line. */
    private static void fillHeap() throws IOException {
        byte[] ok = "ok\n".getBytes();
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        Object[] chain = null;
        boolean full = false;
        for (int size = 1 << 20; System.in.available() == 0; size = Math.max(1, size / 2)) {
            try {
                while (System.in.available() == 0) {
                    Object[] link = new Object[size];
                    link[0] = chain;
                    chain = link;
                }
            } catch (OutOfMemoryError e) {
                if (size == 1 && !full) {
                    out.write(ok);
                    full = true;
                }
                Thread.yield();
            }
        }
    }

    /**
     * Fills the heap but for some 15 MiB with what is garbage by the time of the "ok", and was alive at its first garbage
     * collections. At no time is more than 40 MiB of it alive, whenever the JVM may collect all of the heap.
     */
    private static void litter() {
        Runtime runtime = Runtime.getRuntime();
        Deque<byte[]> kept = new ArrayDeque<>();
        while (runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() > 31 << 19) {
            kept.add(new byte[1 << 19]);
            if (kept.size() > 80) {
                kept.remove();
            }
        }
    }

    /** Starts threads that wait for one lock, and says how many there were to be had. */
    private static String startThreads(int count) {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(Subject::awaitLock, "application-" + i);
            thread.setDaemon(true);
            try {
                thread.start();
            } catch (OutOfMemoryError e) {
                return "threads: " + i;
            }
        }
        return "threads: " + count;
    }

    private static void awaitLock() {
        synchronized (LOCK) {
            sleep();
        }
    }

    /** Ends threads by their name, also those that catch it and wait a moment then. */
    @SuppressWarnings("deprecation") // Until JDK 20 it works, and some application servers do it.
    private static void stopThreads(String pattern) throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            int stops = 0; // It may outlive them.
            for (int i = 0; thread.getName().matches(pattern) && thread.isAlive() && stops < 5; i++) {
                if (i % 200 == 0 || thread.getState() == Thread.State.TIMED_WAITING) {
                    thread.stop();
                    stops++;
                }
                Thread.sleep(1);
            }
        }
    }

    /** An application may make all sockets of its JVM itself; a socket of the agent's that this one makes shows. */
    @SuppressWarnings("deprecation") // Since JDK 17, and still done.
    private static void breakSockets() throws IOException {
        ServerSocket.setSocketFactory(Subject::noSocket);
        Socket.setSocketImplFactory(Subject::noSocket);
    }

    private static SocketImpl noSocket() {
        System.out.println("somebody wants a socket");
        throw new IllegalStateException("no socket");
    }

    private static void sleep() {
        while (true) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                // By "interrupt".
            }
        }
    }

    /** A line that is printed here shows in a way that no test overlooks. */
    private static final class Broken extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            Runtime.getRuntime().halt(99);
        }
    }
}
