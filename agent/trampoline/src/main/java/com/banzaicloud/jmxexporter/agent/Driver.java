package com.banzaicloud.jmxexporter.agent;

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
    /** What the running implementation had to say at the last look. */
    private Map<String, String> notices = Collections.emptyMap();

    /** Whether the last that was desired is to be stopped, and it is. */
    boolean isStopped() {
        return stopped;
    }

    /** Does what is desired: the content of the file. */
    void drive(String content) {
        answer = null;
        notices = Collections.emptyMap(); // What is new is in the answer.
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

    /** Marks what the running implementation has to say since it answered, such as a rule that it switched off. */
    void notice() {
        Map<String, String> said = running == null ? Collections.<String, String>emptyMap() : running.notices();
        if (!said.equals(notices)) {
            notices = new HashMap<>(said);
            answerAgain();
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

    private void stop() {
        if (running != null) {
            running.apply(STOPPED); // One that throws is not stopped, and can be told again.
            forget();
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

    private Map<String, String> start(Implementation implementation, Map<String, String> desired) {
        try {
            return keep(implementation, desired, implementation.apply(desired));
        } catch (Throwable t) {
            release(implementation);
            throw t;
        }
    }

    /** One that threw may hold the port already, on which the next one could not start. */
    private static void release(Implementation implementation) {
        try {
            implementation.apply(STOPPED);
        } catch (Throwable worse) {
            // Why it was not started says more.
        }
    }

    /** Stops the old one first, since both want the same port, and starts it again if the new one does not run. */
    private Map<String, String> replace(Implementation fresh, Map<String, String> desired) {
        Implementation old = running;
        Map<String, String> before = reached;
        Map<String, String> answer;
        forget();
        try {
            old.apply(STOPPED);
            answer = start(fresh, desired);
        } catch (Throwable t) {
            answer = Failure.of(t);
        }
        return running == null ? beside(start(old, before), answer) : answer;
    }

    /** Remembers an implementation that runs, and drops one that does not. */
    private Map<String, String> keep(Implementation implementation, Map<String, String> desired, Map<String, String> answer) {
        if (!"running".equals(answer.get("state"))) {
            forget();
            return answer;
        }
        running = implementation;
        served = new HashMap<>(answer);
        served.keySet().removeAll(Failure.KEYS);
        if (!answer.containsKey("reason") || isReached(desired, answer)) {
            reached = desired;
        }
        return answer;
    }

    /** A reason may be about the configuration that is served, such as a rule that was switched off. */
    private static boolean isReached(Map<String, String> desired, Map<String, String> answer) {
        return answer.get("config.sha256") != null && answer.get("config.sha256").equals(desired.get("config.sha256"))
                && answer.get("port") != null && answer.get("port").equals(desired.get("port"));
    }

    private void forget() {
        running = null;
        reached = Collections.emptyMap();
        served = Collections.emptyMap();
        notices = Collections.emptyMap();
    }

    private void mark(Map<String, String> answer) {
        Map<String, String> pairs = new HashMap<>();
        if (!answer.containsKey("reason")) {
            pairs.putAll(notices);
        }
        pairs.putAll(answer);
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
