package com.banzaicloud.jmxexporter.agent;

import java.io.UnsupportedEncodingException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.util.HashMap;
import java.util.Map;

/** The encoding of the desired file and the mark: {@code key=value&key=value}, form-urlencoded in UTF-8. */
final class Pairs {

    private static final String CHARSET = "UTF-8";

    private Pairs() {}

    static Map<String, String> decode(String text) throws UnsupportedEncodingException {
        Map<String, String> pairs = new HashMap<>();
        for (String pair : text.split("&")) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                pairs.put(URLDecoder.decode(pair.substring(0, equals), CHARSET), URLDecoder.decode(pair.substring(equals + 1), CHARSET));
            }
        }
        return pairs;
    }

    static String encode(Map<String, String> pairs) {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, String> pair : pairs.entrySet()) {
            text.append(text.length() == 0 ? "" : "&").append(escape(pair.getKey())).append('=').append(escape(pair.getValue()));
        }
        return text.toString();
    }

    private static String escape(String text) {
        try {
            return URLEncoder.encode(text, CHARSET);
        } catch (UnsupportedEncodingException e) {
            throw new IllegalStateException(e); // Every Java has UTF-8.
        }
    }
}
