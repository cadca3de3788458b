package com.banzaicloud.jmxexporter.exporter;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The top-level keys of a configuration. The operator judges them in the same way (pkg/configuration/schema.go): what it
 * accepts is accepted here.
 */
final class Keys {

    /** Those that the collector reads and that have an effect in the JVM that it runs in. */
    private static final Set<String> EFFECTIVE = new HashSet<>(Arrays.asList(
            "lowercaseOutputName", "lowercaseOutputLabelNames", "inferCounterTypeFromName", "autoExcludeObjectNameAttributes",
            "excludeJvmMetrics", "startDelaySeconds", "includeObjectNames", "excludeObjectNames", "whitelistObjectNames",
            "blacklistObjectNames", "includeObjectNameAttributes", "excludeObjectNameAttributes", "rules", "metricCustomizers"));

    private static final String LOCAL = "(?i)(?:localhost|127(?:\\.[0-9]{1,3}){3}|\\[::1])?(?::[0-9]*)?";
    private static final Pattern AUTHORITY = Pattern.compile("//([^/]*)");

    private Keys() {}

    /** Reports whether a key has an effect or may be a reason to reject the configuration. */
    static boolean isRead(String key) {
        return EFFECTIVE.contains(key) || key.equals("httpServer") || key.equals("hostPort") || key.equals("jmxUrl");
    }

    /** Rejects what asks for another JVM or for an endpoint that the agent does not have; leaves the keys that have an effect. */
    static void check(Map<?, ?> yaml) throws Rejection {
        if (yaml.containsKey("httpServer")) {
            throw Rejection.configuration("The configuration has httpServer: remove it, since the agent has its own server. For TLS and authentication, "
                    + "set spec.endpointSecurity of the PrometheusJmxExporter.");
        }
        if (!isLocalHostPort(yaml.get("hostPort"))) {
            throw otherHost("hostPort");
        }
        if (!isLocalUrl(yaml.get("jmxUrl"))) {
            throw otherHost("jmxUrl");
        }
        yaml.keySet().retainAll(EFFECTIVE);
    }

    private static Rejection otherHost(String key) {
        return Rejection.configuration("The configuration has " + key + ", which names another host: remove it, since the agent serves only the JVM that it is in.");
    }

    /** As in a file of the standalone exporter that runs beside the application. */
    private static boolean isLocalHostPort(Object hostPort) {
        return hostPort == null || String.valueOf(hostPort).matches(LOCAL);
    }

    private static boolean isLocalUrl(Object url) {
        if (url == null || "".equals(url)) {
            return true;
        }
        Matcher authority = AUTHORITY.matcher(String.valueOf(url));
        boolean found = false;
        while (authority.find()) { // service:jmx:rmi://server/jndi/rmi://registry/jmxrmi
            found = true;
            if (!authority.group(1).matches(LOCAL)) {
                return false;
            }
        }
        return found;
    }
}
