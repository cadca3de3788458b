package com.banzaicloud.jmxexporter.collection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.registry.MetricType;
import java.io.IOError;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.Set;
import javax.management.RuntimeErrorException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a collection keeps apart, and what it counts. */
class GatheringTest {

    private final Gathering gathering = Gathering.begin(Set.of("reserved", "reserved_total"));

    @AfterEach
    void end() {
        Gathering.end();
    }

    @Test
    void nameIsExposedByOneMetric() {
        assertNull(gathering.claim(Gathering.exposedNames("requests", MetricType.COUNTER)));
        assertEquals(Reason.CONFLICTING_TYPE, gathering.claim(Gathering.exposedNames("requests", MetricType.GAUGE)));
        assertEquals(Reason.CONFLICTING_TYPE, gathering.claim(Gathering.exposedNames("requests_total", MetricType.GAUGE)));
        assertEquals(Reason.RESERVED_NAME, gathering.claim(Gathering.exposedNames("reserved_total", MetricType.UNKNOWN)));
        assertNull(gathering.claim(Gathering.exposedNames("other", MetricType.GAUGE)));
    }

    /** What the application's code does wrong is skipped; what ends a thread or a configuration ends the collection. */
    @Test
    void errorsThatEndTheCollection() {
        List<Throwable> faults = List.of(new IllegalStateException(), new StackOverflowError(), new InternalError("no descriptor is left"),
                new NoClassDefFoundError(), new AssertionError(), new ServiceConfigurationError("not today"), new IOError(new IOException()), new Error("of the application") {},
                new RuntimeErrorException(new Error("not today")), new RuntimeErrorException(new StackOverflowError()));
        for (Throwable fault : faults) {
            gathering.skip("domain", Reason.INVALID_SAMPLE, fault);
        }
        assertEquals(String.valueOf(faults.size()), mark().get("skipped"));
        for (Error end : List.of(new OutOfMemoryError(), new ThreadDeath())) {
            assertThrows(end.getClass(), () -> gathering.skip("domain", Reason.INVALID_SAMPLE, end));
            Throwable wrapped = new RuntimeErrorException(end); // As by the MBean server.
            assertThrows(end.getClass(), () -> gathering.skip("domain", Reason.INVALID_SAMPLE, wrapped));
        }
        assertEquals(String.valueOf(faults.size()), mark().get("skipped"));
    }

    /** Otherwise the mark would change with the order of MBeans, which nobody has changed. */
    @Test
    void markIsTheSameInAnyOrder() {
        gathering.skip("b", Reason.INVALID_SAMPLE);
        gathering.skip("a", Reason.INVALID_VALUE);
        Map<String, String> one = mark();
        Gathering other = Gathering.begin(Set.of());
        other.skip("a", Reason.INVALID_VALUE);
        other.skip("b", Reason.INVALID_SAMPLE);
        Map<String, String> two = new HashMap<>();
        other.skipped().mark(two);
        assertEquals(Map.of("skipped", "2", "skipped.domain", "a", "skipped.reason", "InvalidValue"), one);
        assertEquals(one, two);
    }

    @Test
    void longDomainIsCut() {
        gathering.skip("x".repeat(100_000), Reason.MBEAN_UNREADABLE);
        assertTrue(mark().get("skipped.domain").length() < 300);
    }

    private Map<String, String> mark() {
        Map<String, String> mark = new HashMap<>();
        gathering.skipped().mark(mark);
        return mark;
    }
}
