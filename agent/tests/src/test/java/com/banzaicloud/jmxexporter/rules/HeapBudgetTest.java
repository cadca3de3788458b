package com.banzaicloud.jmxexporter.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeapBudgetTest {

    /** In MiB: the heap, its largest pool, and what may be alive. The second is what -Xmx64m gives the parallel collector. */
    @ParameterizedTest
    @CsvSource({"64, 64, 48", "60, 45, 33", "64, 12, 9", "1000, 1000, 900", "1000, 700, 630", "16, 16, 0", "8, 8, -8"})
    void limit(long max, long largestPool, long alive) {
        assertEquals(alive << 20, HeapBudget.limit(max << 20, largestPool << 20), 1024);
    }
}
