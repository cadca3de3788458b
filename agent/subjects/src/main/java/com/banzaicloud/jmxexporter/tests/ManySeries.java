package com.banzaicloud.jmxexporter.tests;

import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Applications with as many series as there are. The system property shape says which: "single" are 50 000 MBeans of one
 * attribute, and one metric under the default rules; "names" are as many with one metric each; "tables" are what
 * Cassandra has with some hundred tables, 56 000 series of 140 metrics under rules that make labels.
 */
public final class ManySeries {

    private static final int SINGLE = 50_000;
    private static final int TABLES = 400;
    private static final int METRICS = 28;

    private ManySeries() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        String shape = System.getProperty("shape", "single");
        if (shape.equals("tables")) {
            for (int table = 0; table < TABLES; table++) {
                for (int metric = 0; metric < METRICS; metric++) {
                    server.registerMBean(new Timer(table + metric), new ObjectName("org.apache.cassandra.metrics:type=Table,keyspace=keyspace_" + table / 20
                            + ",scope=table_" + table + ",name=Metric" + (char) ('A' + metric % 26) + metric));
                }
            }
            return;
        }
        for (int i = 0; i < SINGLE; i++) {
            server.registerMBean(new Value(i), new ObjectName(shape.equals("names") ? "sample:name=gauge-" + i + ",type=Gauge" : "sample:type=Gauge,name=gauge-" + i + ",zone=central"));
        }
    }

    /** A gauge. */
    public interface ValueMBean {
        double getValue();
    }

    /** One that stands still. */
    public static final class Value implements ValueMBean {
        private final int value;

        Value(int value) {
            this.value = value;
        }

        @Override
        public double getValue() {
            return value * 1.1;
        }
    }

    /** Some of what a timer of Cassandra's has. */
    public interface TimerMBean {
        long getCount();

        double getMean();

        double getMax();

        double get99thPercentile();

        double getOneMinuteRate();
    }

    /** One that stands still. */
    public static final class Timer implements TimerMBean {
        private final int number;

        Timer(int number) {
            this.number = number;
        }

        @Override
        public long getCount() {
            return number;
        }

        @Override
        public double getMean() {
            return number / 3.0;
        }

        @Override
        public double getMax() {
            return number * 1.5;
        }

        @Override
        public double get99thPercentile() {
            return number / 7.0;
        }

        @Override
        public double getOneMinuteRate() {
            return number * 0.001;
        }
    }
}
