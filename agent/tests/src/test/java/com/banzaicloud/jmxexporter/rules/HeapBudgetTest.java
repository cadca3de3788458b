package com.banzaicloud.jmxexporter.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeapBudgetTest {

    /** In MiB: the heap, its old generation, and what may be alive. The second row is what -Xmx64m gives the parallel collector. */
    @ParameterizedTest
    @CsvSource({"64, 64, 32", "60, 45, 33", "64, 12, 9", "1000, 1000, 900", "1000, 700, 630", "256, 256, 224", "48, 48, 24", "32, 32, 16", "24, 24, 8", "24, 16, 5.333"})
    void limit(long max, long tenured, double alive) {
        assertEquals(alive * (1 << 20), HeapBudget.limit(max << 20, tenured << 20), 1024);
    }
}
