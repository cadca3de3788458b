package com.banzaicloud.jmxexporter.exporter;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Follows what the trampoline desires: serves, changes its rules or its port while it serves, stops. The pairs
 * are those of docs/agent-protocol.md.
 */
public final class Exporter implements Function<Map<String, String>, Map<String, String>> {

    private final Reloads reloads = new Reloads();
    private Server server;
    private Metrics metrics;
    /** What was served last: told to serve it again, also after a stop, the file may be gone. */
    private Configuration configuration;
    /** Which JVM this is, as the server says; null if it was not told. */
    private String identity;

    /** For the trampoline. */
    public Exporter() {}

    /** Never half done: what cannot be done leaves everything as it was. */
    @Override
    public Map<String, String> apply(Map<String, String> desired) {
        if ("stopped".equals(desired.get("state"))) {
            stop();
            return answer("stopped");
        }
        try {
            serve(desired);
            return answer("running");
        } catch (Rejection rejection) {
            Map<String, String> answer = answer(server == null ? "failed" : "running");
            answer.put("reason", rejection.reason());
            answer.put("message", rejection.getMessage());
            return answer;
        } finally {
            if (server == null) {
                stop(); // A first start that failed leaves nothing behind.
            }
        }
    }

    private void serve(Map<String, String> desired) throws Rejection {
        Address address = Address.of(desired.get("host"), desired.get("port"));
        String self = desired.get("identity");
        Metrics old = metrics;
        Metrics next = configure(desired);
        boolean changes = next != old;
        try {
            if (server == null) {
                server = Server.open(address, next, self);
            } else if (!server.address().equals(address)) {
                move(address, next, self);
            }
        } catch (Throwable t) {
            if (changes) {
                next.close();
            }
            throw t;
        }
        server.show(next, self);
        metrics = next;
        configuration = next.configuration();
        identity = self;
        if (changes && old != null) {
            reloads.succeeded();
            old.close();
        }
    }

    /** The metrics of the desired configuration: those that are there, unless it is another one. */
    private Metrics configure(Map<String, String> desired) throws Rejection {
        try {
            Configuration next = read(desired.get("config"), desired.get("config.sha256"));
            return metrics != null && metrics.configuration().sha256().equals(next.sha256()) ? metrics : new Metrics(next, reloads);
        } catch (Rejection rejection) {
            reloads.failed();
            throw rejection;
        }
    }

    private Configuration read(String path, String sha256) throws Rejection {
        return configuration != null && configuration.is(path, sha256) ? configuration : Configuration.read(path, sha256);
    }

    /** Opens the new port before the old one is closed, unless they are the same on another host. */
    private void move(Address address, Metrics next, String self) throws Rejection {
        Server old = server;
        if (address.port() != old.address().port()) {
            server = Server.open(address, next, self);
            old.close();
            return;
        }
        old.close();
        try {
            server = Server.open(address, next, self);
        } catch (Rejection e) {
            server = null;
            server = Server.open(old.address(), metrics, identity);
            throw e;
        }
    }

    private void stop() {
        if (server != null) {
            server.close();
            server = null;
        }
        if (metrics != null) {
            metrics.close();
            metrics = null;
        }
    }

    private Map<String, String> answer(String state) {
        Map<String, String> answer = new HashMap<>();
        answer.put("state", state);
        answer.put("agent", Exporter.class.getPackage().getSpecificationVersion());
        if (server != null) {
            answer.put("port", String.valueOf(server.address().port()));
            answer.put("config.sha256", configuration.sha256());
            reloads.mark(answer);
        }
        return answer;
    }
}
