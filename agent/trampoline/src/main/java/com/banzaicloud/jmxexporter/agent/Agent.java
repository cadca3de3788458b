package com.banzaicloud.jmxexporter.agent;

import java.util.Map;

/**
 * The door that the JVM calls. Loaded again, from the same jar or from a copy, the JVM runs this class of the
 * first jar, so its static state is the guard against a second agent.
 */
public final class Agent {

    private static Watcher watcher;

    private Agent() {}

    /**
     * Starts the agent together with its application.
     *
     * @param desired path of the desired file
     */
    public static void premain(String desired) {
        agentmain(desired);
    }

    /** Says that no watcher runs, so that it is worth another load. */
    private static void stopped(Throwable reason) {
        try {
            Map<String, String> mark = Failure.of(reason);
            mark.put("state", "stopped");
            Mark.replace(mark);
        } catch (Throwable worse) {
            // As in Driver.report.
        }
    }

    /**
     * Starts the agent in a running application, or wakes the one that is there.
     *
     * @param desired path of the desired file; an agent that is there keeps its own
     */
    public static synchronized void agentmain(String desired) {
        try {
            Mark.countLoad();
            if (watcher == null || !watcher.wake()) {
                Watcher fresh = new Watcher(desired);
                fresh.start();
                watcher = fresh;
            }
        } catch (Throwable t) { // It would end up in the application's output, or end the application.
            stopped(t);
        }
    }
}
