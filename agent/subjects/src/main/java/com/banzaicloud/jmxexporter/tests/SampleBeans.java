package com.banzaicloud.jmxexporter.tests;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import javax.management.MXBean;
import javax.management.ObjectName;

/** MBeans of every shape that the collector knows, with values that do not change. */
public final class SampleBeans {

    private SampleBeans() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        for (String shop : Arrays.asList("north", "south")) {
            register("sample:type=Shop,name=" + shop + ",zone=\"a b\"", (Shop) new Open());
        }
        register("sample:type=Plain", new Plain());
        register("sample:type=Long", (Long) () -> System.getProperty("long"));
        register("nested:type=Nested", (Nested) new Tables());
        register("sample.dots-and-dashes:type=Shop,name=odd", (Shop) new Open());
    }

    private static void register(String name, Object bean) throws Exception {
        ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName(name));
    }

    /** A text as long as somebody wants it. */
    @MXBean
    public interface Long {
        String getText();
    }

    /** Tables with tables in them, and with keys of several parts. */
    @MXBean
    public interface Nested {
        Map<String, Map<String, Integer>> getByFloorAndShelf();

        Map<Stock, Integer> getByStock();
    }

    private static final class Tables implements Nested {
        @Override
        public Map<String, Map<String, Integer>> getByFloorAndShelf() {
            return Collections.singletonMap("first", Collections.singletonMap("left", 5));
        }

        @Override
        public Map<Stock, Integer> getByStock() {
            return Collections.singletonMap(new Stock(), 6);
        }
    }

    /** Open types. */
    @MXBean
    public interface Shop {
        long getOrdersTotal();

        int getQueueSize();

        double getRatio();

        boolean isOpen();

        String getVersion();

        Thread.State getState();

        Stock getStock();

        Map<String, java.lang.Long> getSalesByDay();

        Map<String, Stock> getStockByShelf();

        int[] getHistory();

        String getNothing();
    }


    /** A composite. */
    public static final class Stock {
        public int getApples() {
            return 3;
        }

        public long getPears() {
            return 4;
        }
    }

    private static final class Open implements Shop {
        @Override
        public long getOrdersTotal() {
            return 1234;
        }

        @Override
        public int getQueueSize() {
            return 7;
        }

        @Override
        public double getRatio() {
            return 0.25;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public String getVersion() {
            return "1.2";
        }

        @Override
        public Thread.State getState() {
            return Thread.State.RUNNABLE;
        }

        @Override
        public Stock getStock() {
            return new Stock();
        }

        @Override
        public Map<String, java.lang.Long> getSalesByDay() {
            Map<String, java.lang.Long> sales = new TreeMap<>();
            sales.put("monday", 1L);
            sales.put("tuesday", 2L);
            return sales;
        }

        @Override
        public Map<String, Stock> getStockByShelf() {
            return Collections.singletonMap("left", new Stock());
        }

        @Override
        public int[] getHistory() {
            return new int[] {1, 2};
        }

        @Override
        public String getNothing() {
            return null;
        }
    }

    /** Types that only a standard MBean has, and attributes that fail. */
    public interface PlainMBean {
        Date getStarted();

        Optional<Integer> getSometimes();

        Number getNumber();

        Object getOpaque();

        int getFailing();

        int getExploding();
    }

    /** The implementation, named as standard MBeans must be. */
    public static final class Plain implements PlainMBean {
        @Override
        public Date getStarted() {
            return new Date(1_700_000_000_500L);
        }

        @Override
        public Optional<Integer> getSometimes() {
            return Optional.of(5);
        }

        @Override
        public Number getNumber() {
            return 1e300;
        }

        @Override
        public Object getOpaque() {
            return new Object();
        }

        @Override
        public int getFailing() {
            throw new UnsupportedOperationException("not today");
        }

        @Override
        public int getExploding() {
            throw new StackOverflowError("in the application's own code");
        }
    }
}
