package com.banzaicloud.jmxexporter.agent;

import java.io.IOException;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Makes the implementation follow what is desired, and marks how that went. What cannot be done leaves running
 * what ran before. Used by the watcher's thread alone.
 */
final class Driver {

    private static final Map<String, String> STOPPED = Collections.singletonMap("state", "stopped");

    private Implementation running;
    /** What the running implementation was last told and did, to return to when a replacement fails. */
    private Map<String, String> reached = Collections.emptyMap();
    /** What the running implementation last said of itself, reasons aside. */
    private Map<String, String> served = Collections.emptyMap();
    private String token;
    private boolean stopped;
    /** The outcome of what was desired last; null while there is none. */
    private Map<String, String> answer;

    /** Whether the last that was desired is to be stopped, and it is. */
    boolean isStopped() {
        return stopped;
    }

    /** Does what is desired: the content of the file. */
    void drive(String content) {
        answer = null;
        try {
            Map<String, String> desired = Pairs.decode(content);
            token = desired.get("token");
            answer = outcome(desired);
        } catch (Throwable t) {
            answer = beside(served, Failure.of(t));
        }
        answerAgain();
    }

    /** Marks the outcome of what was desired last. */
    void answerAgain() {
        if (answer != null) {
            mark(answer);
        }
    }

    /** Marks what went wrong with looking, beside what still runs; never throws. */
    void report(Throwable t) {
        try {
            mark(beside(served, Failure.of(t)));
        } catch (Throwable worse) {
            // Out of memory, or not allowed to write properties: a mark that is missing or old says it.
        }
    }

    private Map<String, String> outcome(Map<String, String> desired) throws Exception {
        String protocol = desired.get("protocol");
        if (!"1".equals(protocol)) {
            throw new Refusal("The desired file speaks protocol " + protocol
                    + ", this agent speaks 1: use a helper that does, or restart the application to load a newer agent.");
        }
        String state = required(desired, "state");
        switch (state) {
            case "stopped":
                stop();
                return STOPPED;
            case "running":
                stopped = false;
                return run(desired);
            default:
                throw new Refusal("The desired state is " + state + ": write running or stopped.");
        }
    }

    private void stop() throws Exception {
        if (running != null) {
            Implementation last = running;
            forget();
            try {
                last.apply(STOPPED);
            } finally {
                last.close();
            }
        }
        stopped = true;
    }

    private Map<String, String> run(Map<String, String> desired) throws Exception {
        String sha256 = required(desired, "implementation.sha256");
        if (running != null && running.sha256().equals(sha256)) {
            return keep(running, desired, running.apply(desired));
        }
        Implementation fresh = Implementation.load(Paths.get(required(desired, "implementation")), sha256);
        return running == null ? start(fresh, desired) : replace(fresh, desired);
    }

    private Map<String, String> start(Implementation implementation, Map<String, String> desired) throws Exception {
        try {
            return keep(implementation, desired, implementation.apply(desired));
        } catch (Throwable t) {
            implementation.close();
            throw t;
        }
    }

    /** Stops the old one first, since both want the same port, and starts it again if the new one does not run. */
    private Map<String, String> replace(Implementation fresh, Map<String, String> desired) throws Exception {
        Implementation old = running;
        Map<String, String> before = reached;
        Map<String, String> answer;
        forget();
        try {
            old.apply(STOPPED);
            answer = start(fresh, desired);
        } catch (Throwable t) {
            fresh.close();
            answer = Failure.of(t);
        }
        if (running != null) {
            old.close();
            return answer;
        }
        return beside(start(old, before), answer);
    }

    /** Remembers an implementation that runs, and drops one that does not. */
    private Map<String, String> keep(Implementation implementation, Map<String, String> desired, Map<String, String> answer)
            throws IOException {
        if (!"running".equals(answer.get("state"))) {
            implementation.close();
            forget();
            return answer;
        }
        running = implementation;
        served = new HashMap<>(answer);
        served.keySet().removeAll(Failure.KEYS);
        if (!answer.containsKey("reason")) {
            reached = desired;
        }
        return answer;
    }

    private void forget() {
        running = null;
        reached = Collections.emptyMap();
        served = Collections.emptyMap();
    }

    private void mark(Map<String, String> answer) {
        Map<String, String> pairs = new HashMap<>(answer);
        if (token != null) {
            pairs.put("token", token);
        }
        if (running != null) {
            pairs.put("implementation.sha256", running.sha256());
        }
        Mark.replace(pairs);
    }

    private static Map<String, String> beside(Map<String, String> served, Map<String, String> failure) {
        Map<String, String> both = new HashMap<>(failure);
        both.putAll(served);
        for (String key : Failure.KEYS) {
            both.put(key, failure.get(key));
        }
        return both;
    }

    private static String required(Map<String, String> desired, String key) throws Refusal {
        String value = desired.get(key);
        if (value == null) {
            throw new Refusal("The desired file lacks " + key + ": write it again.");
        }
        return value;
    }
}
