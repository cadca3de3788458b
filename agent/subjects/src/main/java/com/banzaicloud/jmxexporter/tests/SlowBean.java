package com.banzaicloud.jmxexporter.tests;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.MXBean;
import javax.management.ObjectName;

/** An MBean whose getter reads a channel of the application, in which a thread that is interrupted closes it forever. */
public final class SlowBean {

    private static final AtomicInteger HARMED = new AtomicInteger();
    private static final AtomicInteger CALLS = new AtomicInteger();
    private static Pipe pipe;

    private SlowBean() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        pipe = Pipe.open();
        ManagementFactory.getPlatformMBeanServer().registerMBean((Slow) SlowBean::read, new ObjectName("sample:type=Slow"));
    }

    /** One attribute. */
    @MXBean
    public interface Slow {
        int getByte() throws IOException;
    }

    private static int read() throws IOException {
        CALLS.incrementAndGet();
        ByteBuffer one = ByteBuffer.allocate(1);
        try {
            pipe.source().read(one);
        } catch (IOException e) {
            HARMED.incrementAndGet();
            throw e;
        }
        if (Thread.currentThread().isInterrupted()) {
            HARMED.incrementAndGet();
        }
        return one.get(0);
    }

    /** Lets all calls return. */
    static void release() throws IOException {
        pipe.sink().write(ByteBuffer.allocate(16));
    }

    /** How often the getter was called. */
    static String calls() {
        return "calls: " + CALLS;
    }

    /** What the application would notice. */
    static String report() {
        return "open: " + pipe.source().isOpen() + ", harmed: " + HARMED;
    }
}
