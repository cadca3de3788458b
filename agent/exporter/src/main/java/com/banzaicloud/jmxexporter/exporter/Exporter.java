package com.banzaicloud.jmxexporter.exporter;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Follows what the trampoline desires: serves, changes its rules or its port while it serves, stops. The pairs
 * are those of docs/agent-protocol.md.
 */
public final class Exporter implements Function<Map<String, String>, Map<String, String>>, Supplier<Map<String, String>> {

    /** How long another configuration works before it counts as served. The helper waits 5 seconds for the mark. */
    private static final long TRIAL_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final Reloads reloads = new Reloads();
    private final Scrapes scrapes = new Scrapes();
    private final ScrapeHandler handler = new ScrapeHandler(scrapes);
    private Server server;
    private Metrics metrics;
    /** What was served last. When it is desired again, also after a stop, the file may be gone. */
    private Configuration configuration;

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
            if (serve(desired)) { // A rule that is too expensive is known before the configuration is taken for served.
                scrapes.collect(new WorkDeadline(TRIAL_NANOS));
            }
            Map<String, String> answer = answer("running");
            Map<String, String> more = get();
            if (more != null) {
                answer.putAll(more);
            }
            return answer;
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

    /** Why what is served is not all that was desired: a rule was too expensive, which may show at any time; else null. */
    @Override
    public Map<String, String> get() {
        String complaint = metrics == null ? null : metrics.complaint();
        if (complaint == null) {
            return null;
        }
        Map<String, String> pairs = new HashMap<>();
        pairs.put("reason", "RuleTooExpensive");
        pairs.put("message", complaint);
        return pairs;
    }

    /** Serves what is desired, and reports whether its configuration is another one than before. */
    private boolean serve(Map<String, String> desired) throws Rejection {
        Address address = Address.of(desired.get("host"), desired.get("port"));
        Metrics old = metrics;
        Metrics next = configure(desired);
        boolean changes = next != old;
        try {
            if (server == null) {
                server = Server.open(address, handler);
            } else if (!server.address().equals(address)) {
                move(address);
            }
        } catch (Throwable t) {
            if (changes) {
                next.close();
            }
            throw t;
        }
        handler.identify(desired.get("identity"));
        metrics = next;
        configuration = next.configuration();
        if (changes && old != null) {
            reloads.succeeded();
            old.close();
        }
        scrapes.show(next);
        return changes;
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
    private void move(Address address) throws Rejection {
        Server old = server;
        if (address.port() != old.address().port()) {
            server = Server.open(address, handler);
            old.close();
            return;
        }
        old.close();
        try {
            server = Server.open(address, handler);
        } catch (Rejection e) {
            server = null;
            server = Server.open(old.address(), handler);
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
        scrapes.show(null);
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
