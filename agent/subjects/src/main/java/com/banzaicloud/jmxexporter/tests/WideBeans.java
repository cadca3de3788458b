package com.banzaicloud.jmxexporter.tests;

import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** An application with many MBeans of ten attributes, and a thread of its own that needs memory, unless it is idle. */
public final class WideBeans {

    private static final int BEANS = Integer.getInteger("beans", 10_000);

    /** Each sample has it as a label, and the MBean once. */
    private static final String CACHE = ",cache=the-second-level-cache-of-the-catalogue-in-the-part-of-the-application-that-answers-what-customers-ask-for";

    private WideBeans() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (int i = 0; i < BEANS; i++) {
            server.registerMBean(new Wide(), new ObjectName("sample:type=Wide,name=wide-" + i + CACHE));
        }
        System.gc(); // Before the first look at an old generation, what is alive in it is not known.
        if (!Boolean.getBoolean("idle")) {
            ManyBeans.startWork();
        }
    }

    /** What a cache or a pool has. */
    public interface WideMBean {
        long getHits();

        long getMisses();

        long getPuts();

        long getEvictions();

        long getExpirations();

        long getSize();

        long getCapacity();

        double getHitRate();

        double getLoadTime();

        double getLoadFailureRate();
    }

    /** One of them. */
    public static final class Wide implements WideMBean {
        @Override
        public long getHits() {
            return 1;
        }

        @Override
        public long getMisses() {
            return 2;
        }

        @Override
        public long getPuts() {
            return 3;
        }

        @Override
        public long getEvictions() {
            return 4;
        }

        @Override
        public long getExpirations() {
            return 5;
        }

        @Override
        public long getSize() {
            return 6;
        }

        @Override
        public long getCapacity() {
            return 7;
        }

        @Override
        public double getHitRate() {
            return 8;
        }

        @Override
        public double getLoadTime() {
            return 9;
        }

        @Override
        public double getLoadFailureRate() {
            return 10;
        }
    }
}
