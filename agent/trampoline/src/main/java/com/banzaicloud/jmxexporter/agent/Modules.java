package com.banzaicloud.jmxexporter.agent;

/** Which module of the JDK a class that a trimmed runtime lacks belongs to. */
final class Modules {

    private static final String[][] PACKAGES = {
        {"com.sun.net.httpserver", "jdk.httpserver"},
        {"com.sun.management", "jdk.management"},
        {"java.beans", "java.desktop"},
        {"java.lang.instrument", "java.instrument"},
        {"java.lang.management", "java.management"},
        {"java.net.http", "java.net.http"},
        {"java.rmi", "java.rmi"},
        {"java.sql", "java.sql"},
        {"java.util.logging", "java.logging"},
        {"javax.management.remote.rmi", "java.management.rmi"},
        {"javax.management", "java.management"},
        {"javax.naming", "java.naming"},
        {"javax.rmi.ssl", "java.rmi"},
        {"javax.script", "java.scripting"},
        {"javax.security.sasl", "java.security.sasl"},
        {"javax.xml", "java.xml"},
        {"org.w3c.dom", "java.xml"},
        {"org.xml.sax", "java.xml"},
        {"sun.misc", "jdk.unsupported"},
        {"sun.reflect", "jdk.unsupported"},
    };

    private Modules() {}

    /** The module of a class, null when it is none of the JDK's known ones. */
    static String of(String className) {
        if (className != null) {
            for (String[] row : PACKAGES) {
                if (className.startsWith(row[0] + ".")) {
                    return row[1];
                }
            }
        }
        return null;
    }

    /** The class that was not found, null when something else went wrong. */
    static String missingClass(Throwable thrown) {
        String missing = null;
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            if ((t instanceof NoClassDefFoundError || t instanceof ClassNotFoundException) && t.getMessage() != null) {
                missing = t.getMessage().replace('/', '.');
            }
        }
        return missing;
    }
}
