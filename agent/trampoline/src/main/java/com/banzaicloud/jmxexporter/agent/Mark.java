package com.banzaicloud.jmxexporter.agent;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What the agent says of itself: one system property, which can be read without loading anything. */
final class Mark {

    static final String PROPERTY = "com.banzaicloud.jmxexporter";

    private static final Set<String> NULL = Collections.singleton(null);

    private static int loads;
    private static String text = "";
    private static Map<String, String> pairs = new TreeMap<>();

    private Mark() {}

    static synchronized void countLoad() {
        loads++;
        replace(pairs);
    }

    /** Says these pairs from now on. */
    static synchronized void replace(Map<String, String> said) {
        pairs = new TreeMap<>(said);
        pairs.values().removeAll(NULL);
        pairs.put("protocol", "1");
        pairs.put("loads", String.valueOf(loads));
        text = Pairs.encode(pairs);
        publish();
    }

    /** Says it again if the application has replaced its properties. */
    static synchronized void publish() {
        if (!text.equals(System.getProperty(PROPERTY))) {
            System.setProperty(PROPERTY, text);
        }
    }
}
