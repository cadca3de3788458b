package com.banzaicloud.jmxexporter.tests;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;

/** MBeans that do what they may not, each in a domain of its own, among many that are as they should be. */
public final class BrokenBeans {

    private static final int HEALTHY = 50;

    private static final AtomicInteger ASKED = new AtomicInteger();
    private static volatile boolean failing;
    private static volatile boolean mended;

    private BrokenBeans() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        register("info:type=Info", new Failing());
        register("attributes:type=Attributes", new Unreadable());
        register("undeclared:type=Undeclared", new Undeclared());
        register("memory:type=Memory", new OutOfMemory());
        register("counter:type=Counter", new Dynamic(-1));
        register("number:type=Number", new Dynamic(new Odd()));
        register("silent:type=Silent", new Dynamic(new Silent()));
        register("labels:type=Labels,a-b=1,a_b=2", new Dynamic(1));
        for (int i = 0; i < HEALTHY; i++) {
            register("healthy:type=Healthy,name=" + i, new Dynamic(i));
        }
        for (int i = 0; i < 60; i++) {
            register("domain" + i + ":type=Counter", new Dynamic(-1));
        }
        failing = true;
    }

    /** How often the MBean that needs too much memory was asked for one attribute. */
    static String asked() {
        return "asked: " + ASKED;
    }

    /** Makes them behave. */
    static void mend() {
        mended = true;
    }

    private static void register(String name, DynamicMBean bean) throws Exception {
        ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName(name));
    }

    /** One attribute, Value, which is as declared. */
    private static class Dynamic implements DynamicMBean {

        private final Object value;

        Dynamic(Object value) {
            this.value = value;
        }

        @Override
        public Object getAttribute(String attribute) {
            return mended ? Integer.valueOf(1) : value;
        }

        @Override
        public AttributeList getAttributes(String[] attributes) {
            AttributeList list = new AttributeList();
            list.add(new Attribute("Value", getAttribute("Value")));
            return list;
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            MBeanAttributeInfo value = new MBeanAttributeInfo("Value", "java.lang.Number", "a value", true, false, false);
            return new MBeanInfo(getClass().getName(), "", new MBeanAttributeInfo[] {value}, null, null, null);
        }

        @Override
        public void setAttribute(Attribute attribute) {}

        @Override
        public AttributeList setAttributes(AttributeList attributes) {
            return attributes;
        }

        @Override
        public Object invoke(String action, Object[] parameters, String[] signature) {
            return null;
        }
    }

    /** Throws when asked what it has, once it is registered. */
    private static final class Failing extends Dynamic {

        Failing() {
            super(1);
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            if (failing && !mended) {
                throw new IllegalStateException("not today");
            }
            return super.getMBeanInfo();
        }
    }

    /** Throws for all attributes together, and for each. */
    private static final class Unreadable extends Dynamic {

        Unreadable() {
            super(1);
        }

        @Override
        public Object getAttribute(String attribute) {
            if (!mended) {
                throw new IllegalStateException("not today");
            }
            return super.getAttribute(attribute);
        }
    }

    /** Needs more memory than there is. */
    private static final class OutOfMemory extends Dynamic {

        OutOfMemory() {
            super(1);
        }

        @Override
        public Object getAttribute(String attribute) {
            ASKED.incrementAndGet();
            return super.getAttribute(attribute);
        }

        @Override
        public AttributeList getAttributes(String[] attributes) {
            throw new OutOfMemoryError("in a test");
        }
    }

    /** Has no text. */
    private static final class Silent extends Number {

        private static final long serialVersionUID = 1;

        @Override
        public int intValue() {
            return 1;
        }

        @Override
        public long longValue() {
            return 1;
        }

        @Override
        public float floatValue() {
            return 1;
        }

        @Override
        public double doubleValue() {
            return 1;
        }

        @Override
        public String toString() {
            return null;
        }
    }

    /** Answers with more than it declares. */
    private static final class Undeclared extends Dynamic {

        Undeclared() {
            super(1);
        }

        @Override
        public AttributeList getAttributes(String[] attributes) {
            AttributeList list = super.getAttributes(attributes);
            if (!mended) {
                list.add(0, new Attribute("Surprise", 2));
            }
            return list;
        }
    }

    /** A number that has no value. */
    private static final class Odd extends Number {

        private static final long serialVersionUID = 1;

        @Override
        public int intValue() {
            throw new ArithmeticException("no value");
        }

        @Override
        public long longValue() {
            throw new ArithmeticException("no value");
        }

        @Override
        public float floatValue() {
            throw new ArithmeticException("no value");
        }

        @Override
        public double doubleValue() {
            throw new ArithmeticException("no value");
        }
    }
}
