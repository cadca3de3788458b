package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.security.Guard;
import com.banzaicloud.jmxexporter.security.InvalidSecurity;
import com.banzaicloud.jmxexporter.security.SecurityFile;
import java.util.Collections;
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
    private final Candidate candidate = new Candidate(reloads, scrapes, TRIAL_NANOS);
    /** For health, which is asked on other threads. Null when nothing is known yet. */
    private final Supplier<Map<String, String>> current = new Supplier<Map<String, String>>() {
        @Override
        public Map<String, String> get() {
            Metrics served = metrics;
            Map<String, String> pairs = served == null ? null : notices(served);
            return pairs == null && served != null && served.haveCollected() ? Collections.<String, String>emptyMap() : pairs;
        }
    };
    private final ScrapeHandler handler = new ScrapeHandler(scrapes, current);
    private final Guard guard = new Guard(handler, handler.publicHealth());
    private Server server;
    private volatile Metrics metrics;
    /** The last that was served. When its configuration is desired again, also after a stop, the file may be gone. */
    private State served;
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
            follow(read(desired), !candidate.concerns(desired));
            Map<String, String> answer = answer("running");
            complain(metrics, answer);
            answer.putAll(candidate.judge(desired));
            return answer;
        } catch (Rejection rejection) {
            if (rejection.isOfConfiguration()) {
                reloads.failed();
            }
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
            notices = notices(metrics);
            collections = ended;
        }
        return notices;
    }

    private Map<String, String> notices(Metrics metrics) {
        Map<String, String> pairs = new HashMap<>();
        complain(metrics, pairs);
        metrics.mark(pairs);
        return pairs.isEmpty() ? null : pairs;
    }

    /** Says that nothing is served for want of heap, or names the rules that are too expensive. */
    private void complain(Metrics metrics, Map<String, String> pairs) {
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

    /**
     * Serves this from now on. Another configuration is tried at once: what is too expensive is known before it is taken
     * for served, and one that is too large for the heap gives way to one that was not.
     *
     * @param again whether the same configuration is tried again if it was too large
     */
    private void follow(State next, boolean again) throws Rejection {
        State before = server == null ? null : served;
        boolean fitted = before != null && scrapes.complaint() == null;
        boolean changes = serve(next);
        if (changes || !fitted && again) { // What was too large may be less now.
            scrapes.collect(new WorkDeadline(TRIAL_NANOS));
        }
        String tooLarge = scrapes.complaint();
        if (changes && fitted && tooLarge != null && restore(before)) {
            throw Rejection.tooLarge(tooLarge);
        }
        if (changes && before != null) {
            reloads.succeeded();
        }
    }

    private boolean restore(State before) {
        try {
            serve(before);
            return true;
        } catch (Throwable t) { // Its port was taken meanwhile, say: what is there stays.
            return false;
        }
    }

    /** Serves this, and reports whether its configuration is another one than before. */
    private boolean serve(State next) throws Rejection {
        Metrics old = metrics;
        boolean changes = old == null || !old.configuration().sha256().equals(next.configuration.sha256());
        Metrics fresh = changes ? new Metrics(next.configuration, reloads) : old;
        SecurityFile before = guard.security();
        guard.secure(next.security); // Before a port is opened: on a new one, not one request is answered in the clear.
        try {
            if (server == null) {
                server = Server.open(next.address, guard);
            } else if (!server.address().equals(next.address)) {
                move(next.address);
            }
        } catch (Throwable t) {
            guard.secure(before);
            if (changes) {
                fresh.close();
            }
            throw t;
        }
        handler.identify(next.identity);
        metrics = fresh;
        served = next;
        if (changes && old != null) {
            old.close();
        }
        scrapes.show(fresh);
        return changes;
    }

    private State read(Map<String, String> desired) throws Rejection {
        return new State(Address.of(desired.get("host"), desired.get("port")),
                security(desired.get("security"), desired.get("security.sha256")),
                configuration(desired.get("config"), desired.get("config.sha256")), desired.get("identity"));
    }

    private Configuration configuration(String path, String sha256) throws Rejection {
        return served != null && served.configuration.is(path, sha256) ? served.configuration : Configuration.read(path, sha256);
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
            answer.put("config.sha256", served.configuration.sha256());
            if (guard.security() != null) {
                answer.put("security.sha256", guard.security().sha256());
            }
            reloads.mark(answer);
        }
        return answer;
    }
}
