package com.banzaicloud.jmxexporter.exporter;

import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;
import java.util.Map;

/** What the mark says of the last collections, as a header of /-/healthy, encoded as the mark is: for the operator, which asks there. */
final class Notices {

    static final String HEADER = "Jmx-Exporter-Notices";

    /** Bytes. Whoever reads the header may limit those of a response. */
    private static final int LIMIT = 4096;
    /** In the order of their importance: the last ones are left out where they are too long. None has a name that the application chose. */
    private static final String[] PUBLIC = {"reason", "skipped", "skipped.reason", "expensive", "expensive.rule"};
    private static final String[] PRIVATE = {"skipped.domain", "expensive.include"};

    private Notices() {}

    /** The header for who may read the metrics, which say the same. It is empty if there is nothing to notice; null if that is not known. */
    static String all(Map<String, String> pairs) {
        return pairs == null ? null : encode(encode("", pairs, PUBLIC), pairs, PRIVATE);
    }

    /** The header for anybody: without what the application named. */
    static String ofPublic(Map<String, String> pairs) {
        return pairs == null ? null : encode("", pairs, PUBLIC);
    }

    private static String encode(String before, Map<String, String> pairs, String[] keys) {
        StringBuilder header = new StringBuilder(before);
        for (String key : keys) {
            String value = pairs.get(key);
            if (value == null) {
                continue;
            }
            String encoded = (header.length() == 0 ? "" : "&") + key + "=" + encode(value);
            if (header.length() + encoded.length() <= LIMIT) {
                header.append(encoded);
            }
        }
        return header.toString();
    }

    private static String encode(String value) {
        try {
            return URLEncoder.encode(value, "UTF-8");
        } catch (UnsupportedEncodingException e) {
            throw new IllegalStateException(e); // Every Java has UTF-8.
        }
    }
}
