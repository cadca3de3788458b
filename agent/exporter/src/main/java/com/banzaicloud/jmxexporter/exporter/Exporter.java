package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.security.Guard;
import com.banzaicloud.jmxexporter.security.InvalidSecurity;
import com.banzaicloud.jmxexporter.security.SecurityFile;
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
    private final Guard guard = new Guard(handler);
    private Server server;
    private Metrics metrics;
    /** What was served last. When it is desired again, also after a stop, the file may be gone. */
    private Configuration configuration;
    /** What {@link #get} returned last, and the number of collections then; -1 if more than these may have changed. */
    private Map<String, String> notices;
    private long collections;

    /** For the trampoline. */
    public Exporter() {}

    /** Never half done: what cannot be done leaves everything as it was. */
    @Override
    public Map<String, String> apply(Map<String, String> desired) {
        // The JDK may make what belongs to the application meanwhile, such as its logger finder, which looks for itself there.
        Thread.currentThread().setContextClassLoader(ClassLoader.getSystemClassLoader());
        collections = -1;
        if ("stopped".equals(desired.get("state"))) {
            stop();
            return answer("stopped");
        }
        try {
            // What is too expensive is known before the configuration is taken for served; what was too large may be less now.
            if (serve(desired) || scrapes.complaint() != null) {
                scrapes.collect(new WorkDeadline(TRIAL_NANOS));
            }
            Map<String, String> answer = answer("running");
            complain(answer);
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

    /**
     * Why what is served is not all that was desired or is there; null if it is. Called twice a second for as long as the
     * application runs, so it drives the server's checks, and allocates nothing until another collection has ended.
     */
    @Override
    public Map<String, String> get() {
        if (metrics == null) {
            return null;
        }
        server.check();
        long ended = scrapes.ended();
        if (collections != ended) {
            Map<String, String> pairs = new HashMap<>();
            complain(pairs);
            metrics.mark(pairs);
            notices = pairs.isEmpty() ? null : pairs;
            collections = ended;
        }
        return notices;
    }

    /** Says that nothing is served for want of heap, or names the rules that are too expensive. */
    private void complain(Map<String, String> pairs) {
        String tooLarge = scrapes.complaint();
        String tooExpensive = metrics.complaint();
        if (tooLarge != null) {
            pairs.put("reason", "CollectionTooLarge");
            pairs.put("message", tooLarge);
        } else if (tooExpensive != null) {
            pairs.put("reason", "RuleTooExpensive");
            pairs.put("message", tooExpensive);
        }
    }

    /** Serves what is desired, and reports whether its configuration is another one than before. */
    private boolean serve(Map<String, String> desired) throws Rejection {
        Address address = Address.of(desired.get("host"), desired.get("port"));
        SecurityFile security = security(desired.get("security"), desired.get("security.sha256"));
        Metrics old = metrics;
        Metrics next = configure(desired);
        boolean changes = next != old;
        SecurityFile before = guard.security();
        guard.secure(security); // Before a port is opened: on a new one, not one request is answered in the clear.
        try {
            if (server == null) {
                server = Server.open(address, guard);
            } else if (!server.address().equals(address)) {
                move(address);
            }
        } catch (Throwable t) {
            guard.secure(before);
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

    /** What secures the endpoint; null if nothing is to. */
    private SecurityFile security(String path, String sha256) throws Rejection {
        SecurityFile old = guard.security();
        if (path == null && sha256 == null) {
            return null;
        }
        if (path == null || sha256 == null) {
            throw Rejection.security("The desired file has one of security and security.sha256: write both into it.");
        }
        try {
            return old != null && old.is(path, sha256) ? old : SecurityFile.read(path, sha256);
        } catch (InvalidSecurity e) {
            throw Rejection.security(e.getMessage());
        }
    }

    /** Opens the new port before the old one is closed, unless they are the same on another host. */
    private void move(Address address) throws Rejection {
        Server old = server;
        if (address.port() != old.address().port()) {
            server = Server.open(address, guard);
            old.close();
            return;
        }
        old.close();
        try {
            server = Server.open(address, guard);
        } catch (Rejection e) {
            server = null;
            server = Server.open(old.address(), guard);
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
            if (guard.security() != null) {
                answer.put("security.sha256", guard.security().sha256());
            }
            reloads.mark(answer);
        }
        return answer;
    }
}
