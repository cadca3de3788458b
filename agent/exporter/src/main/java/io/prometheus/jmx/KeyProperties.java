package io.prometheus.jmx;

import java.util.LinkedHashMap;
import javax.management.ObjectName;

/**
 * Takes the key properties of a name apart, in the order in which they were given. The collector does so by a regular
 * expression, and keeps the result of each MBean for good.
 */
final class KeyProperties {

    private KeyProperties() {}

    /** The properties of an MBean, whose name is no pattern; values in quotes stay so. */
    static LinkedHashMap<String, String> of(ObjectName name) {
        LinkedHashMap<String, String> properties = new LinkedHashMap<>();
        String list = name.getKeyPropertyListString();
        for (int at = 0; at < list.length();) {
            int equals = list.indexOf('=', at);
            int end = end(list, equals + 1);
            properties.put(list.substring(at, equals), list.substring(equals + 1, end));
            at = end + 1; // Behind the comma.
        }
        return properties;
    }

    private static int end(String list, int value) {
        int at = value;
        if (list.startsWith("\"", value)) {
            for (at++; list.charAt(at) != '"'; at++) {
                if (list.charAt(at) == '\\') {
                    at++;
                }
            }
        }
        int comma = list.indexOf(',', at);
        return comma < 0 ? list.length() : comma;
    }
}
