package com.banzaicloud.jmxexporter.tests;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.MBeanServer;
import javax.management.MXBean;
import javax.management.ObjectName;

/** An application with 10 000 MBeans, and a thread of its own that needs memory. */
public final class ManyBeans {

    private static final int BEANS = 10_000;
    private static final AtomicInteger COLLECTIONS = new AtomicInteger();
    private static final AtomicInteger STARVED = new AtomicInteger();
    private static volatile Object kept;

    private ManyBeans() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (int i = 0; i < BEANS; i++) {
            server.registerMBean(new Topic(), new ObjectName("sample:type=Topic,name=topic-" + i + ",cluster=production,zone=central"));
        }
        server.registerMBean((Counted) COLLECTIONS::incrementAndGet, new ObjectName("sample:type=Counted"));
        startWork();
    }

    /** Starts the thread that needs memory. */
    static void startWork() {
        Thread thread = new Thread(ManyBeans::work, "application-memory");
        thread.setDaemon(true);
        thread.start();
    }

    /** Needs 8 MiB at a time. */
    private static void work() {
        while (true) {
            try {
                kept = null;
                kept = new byte[8 << 20];
                Thread.sleep(10);
            } catch (OutOfMemoryError e) {
                STARVED.incrementAndGet();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** How often the application ran out of memory. */
    static String starved() {
        return "out of memory: " + STARVED;
    }

    /** How many collections there were. */
    static String collections() {
        return "collections: " + COLLECTIONS;
    }

    /** Tells collections apart: each asks it once. */
    @MXBean
    public interface Counted {
        int getCollections();
    }

    /** What a broker has thousands of. */
    @MXBean
    public interface TopicMXBean {
        long getMessagesInTotal();

        long getBytesInTotal();

        double getRate();

        int getPartitions();

        boolean isReplicated();
    }

    private static final class Topic implements TopicMXBean {
        @Override
        public long getMessagesInTotal() {
            return 1;
        }

        @Override
        public long getBytesInTotal() {
            return 2;
        }

        @Override
        public double getRate() {
            return 3;
        }

        @Override
        public int getPartitions() {
            return 4;
        }

        @Override
        public boolean isReplicated() {
            return true;
        }
    }
}
