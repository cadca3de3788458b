package com.banzaicloud.jmxexporter.agent;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Turns what was thrown into pairs of the mark. */
final class Failure {

    /** The pairs that say why something was not done. */
    static final List<String> KEYS = Arrays.asList("reason", "message");

    private Failure() {}

    static Map<String, String> of(Throwable thrown) {
        Map<String, String> pairs = new HashMap<>();
        pairs.put("state", "failed");
        String missing = Modules.missingClass(thrown);
        String module = Modules.of(missing);
        if (module != null) {
            pairs.put("reason", "MissingModule");
            pairs.put("message", "The application's Java runtime lacks the module " + module + " (" + missing
                    + " was not found): add it with jlink --add-modules " + module
                    + ", or, where the runtime has it, start the application with --add-modules " + module + ".");
        } else {
            pairs.put("reason", "AgentFailed");
            pairs.put("message", root(thrown).toString());
        }
        return pairs;
    }

    private static Throwable root(Throwable thrown) {
        return thrown.getCause() == null ? thrown : root(thrown.getCause());
    }
}
