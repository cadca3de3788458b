package com.banzaicloud.jmxexporter.collection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The includeObjectNames that keep what yields samples. */
class YieldsTest {

    private final Yields yields = new Yields();

    @Test
    void nothingIsLeftOut() {
        yields.count("a", "Cache", true);
        yields.count("b", null, true);
        assertNull(yields.include());
    }

    @Test
    void typesAndDomainsThatYieldAreKept() {
        yields.count("b", "Pool", true);
        yields.count("b", "Thread", false);
        yields.count("b", "Cache", true);
        yields.count("a", "Cache", true);
        yields.count("c", "Cache", false);
        assertEquals("a:* b:type=Cache,* b:type=Pool,*", yields.include());
    }

    /** If one MBean of a type yields series, the pattern keeps the whole type. */
    @Test
    void typeYieldsInPart() {
        yields.count("a", "Cache", false);
        yields.count("a", "Cache", true);
        yields.count("a", "Pool", false);
        assertEquals("a:type=Cache,*", yields.include());
    }

    @Test
    void mbeanWithoutTypeKeepsItsDomain() {
        yields.count("a", null, true);
        yields.count("a", "Cache", false);
        yields.count("b", "Cache", false);
        assertEquals("a:*", yields.include());
    }

    @Test
    void patternsAreSeparatedBySpaces() {
        yields.count("a", "two words", true);
        yields.count("a", "Cache", false);
        yields.count("b", "Cache", false);
        assertEquals("a:*", yields.include());
        yields.count("two words", "Cache", true);
        assertNull(yields.include());
    }

    @Test
    void atMostTenPatterns() {
        for (int i = 0; i < 8; i++) {
            yields.count("a", "Type" + i, true);
            yields.count("b", "Type" + i, i < 3);
        }
        yields.count("a", "Barren", false);
        assertEquals("a:* b:type=Type0,* b:type=Type1,* b:type=Type2,*", yields.include());
        for (int i = 0; i < 11; i++) {
            yields.count("domain" + i, null, true);
        }
        assertNull(yields.include());
    }

    @Test
    void atMostOneKibibyte() {
        yields.count("a", "x".repeat(600), true);
        yields.count("a", "y".repeat(600), true);
        yields.count("a", "Barren", false);
        yields.count("b", "Barren", false);
        assertEquals("a:*", yields.include());
    }

    @Test
    void moreTypesThanAreToldApart() {
        for (int i = 0; i < 10_000; i++) {
            yields.count("a", "Type" + i, true);
            yields.count("b", "Type" + i, false);
        }
        assertEquals("a:*", yields.include());
        assertTrue(yields.include().length() < 1024);
    }
}
