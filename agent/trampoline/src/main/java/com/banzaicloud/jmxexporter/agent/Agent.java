package com.banzaicloud.jmxexporter.agent;

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
            new Driver().report(t);
        }
    }
}
