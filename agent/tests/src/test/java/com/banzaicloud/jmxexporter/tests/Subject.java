package com.banzaicloud.jmxexporter.tests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.util.Properties;
import java.util.TreeSet;
import java.util.logging.Logger;

/**
 * The application that agents are loaded into. It does what its input tells it, line by line, acknowledges each
 * line with "ok" and ends when the input does. It touches neither MBeans nor logging unless told to.
 */
public final class Subject {

    private static final Thread SLEEPER = new Thread(Subject::sleep, "application");
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
                case "listen" -> busy = new ServerSocket(Integer.parseInt(words[1]));
                case "close" -> busy.close();
                case "replace-properties" -> System.setProperties(new Properties());
                case "interrupt" -> Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread != Thread.currentThread()).forEach(Thread::interrupt);
                case "mbeans" -> out.println(new TreeSet<>(ManagementFactory.getPlatformMBeanServer().queryNames(null, null)));
                case "release" -> SlowBean.release();
                case "report" -> out.println(SlowBean.report());
                case "log" -> Logger.getLogger("application").info("about the application");
                case "break-streams" -> {
                    System.setOut(new PrintStream(new Broken()));
                    System.setErr(new PrintStream(new Broken()));
                }
                default -> throw new IllegalArgumentException(line);
            }
            out.println("ok");
        }
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

    /** Whoever prints here shows in a way that no test overlooks. */
    private static final class Broken extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            Runtime.getRuntime().halt(99);
        }
    }
}
