package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.rules.CollectionTooLarge;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Judges a configuration as another one that is desired is judged: it is read, its patterns are compiled, and it collects
 * once, within the same limits. Nothing of it is served, and what is served stays as it is. The pairs are those of
 * docs/agent-protocol.md.
 */
final class Candidate {

    private static final String PREFIX = "candidate.";
    private static final String TOKEN = PREFIX + "token";

    private final Reloads reloads;
    private final Scrapes scrapes;
    private final long trialNanos;
    /** Of one desired file, which the trampoline may apply again, after a replacement that failed. */
    private Map<String, String> judgement = Collections.emptyMap();

    Candidate(Reloads reloads, Scrapes scrapes, long trialNanos) {
        this.reloads = reloads;
        this.scrapes = scrapes;
        this.trialNanos = trialNanos;
    }

    /**
     * Reports whether a desired file is one of a check: it asks for a judgement, or the one before did. Neither is written
     * to have what is served tried again.
     */
    boolean concerns(Map<String, String> desired) {
        return desired.containsKey("candidate") || !judgement.isEmpty();
    }

    /** The judgement for the mark; empty if none is asked for. Never throws: what is served is not in question. */
    Map<String, String> judge(Map<String, String> desired) {
        String path = desired.get("candidate");
        String token = desired.get("token");
        if (path == null || token == null) {
            judgement = Collections.emptyMap();
            return judgement;
        }
        if (!token.equals(judgement.get(TOKEN))) {
            Map<String, String> pairs = new HashMap<>();
            pairs.put(TOKEN, token);
            for (Map.Entry<String, String> pair : judge(path, desired.get("candidate.sha256")).entrySet()) {
                pairs.put(PREFIX + pair.getKey(), pair.getValue());
            }
            judgement = pairs;
        }
        return judgement;
    }

    private Map<String, String> judge(String path, String sha256) {
        // By the clock, not by work: scrapes and the operator wait meanwhile, however little CPU the container gets.
        Deadline deadline = new Deadline(trialNanos);
        Map<String, String> pairs = new HashMap<>();
        try {
            Configuration configuration = Configuration.read(path, sha256);
            pairs.put("sha256", configuration.sha256());
            configuration.startAtOnce();
            tryOut(configuration, deadline, pairs);
        } catch (Rejection e) {
            complain(e, pairs);
        } catch (Throwable t) { // Out of memory, say: the trampoline would take it for a failure of what is served.
            complain(Rejection.failed("The configuration cannot be judged: " + t), pairs);
        }
        return pairs;
    }

    private static void complain(Rejection rejection, Map<String, String> pairs) {
        pairs.put("reason", rejection.reason());
        pairs.put("message", rejection.getMessage());
    }

    /** Collects once, and puts what that costs and yields into the pairs. */
    private void tryOut(Configuration configuration, Deadline deadline, Map<String, String> pairs) throws Rejection {
        try (Metrics metrics = new Metrics(configuration, reloads)) {
            Rejection incomplete = collect(metrics, deadline);
            metrics.mark(pairs);
            if (metrics.complaint() != null) {
                throw Rejection.tooExpensive(metrics.complaint());
            }
            if (incomplete != null) {
                throw incomplete;
            }
        }
    }

    /** Collects once; why the collection did not end is returned, since a rule that was too expensive says more. */
    private Rejection collect(Metrics metrics, Deadline deadline) throws Rejection {
        Throwable failure;
        try {
            failure = scrapes.tryOut(metrics, deadline);
        } catch (Unavailable e) {
            return Rejection.incomplete(e.getMessage());
        }
        if (failure instanceof CollectionTooLarge) {
            throw Rejection.tooLarge(failure.getMessage());
        }
        return failure == null ? null : Rejection.failed("The collection failed: " + failure);
    }
}
