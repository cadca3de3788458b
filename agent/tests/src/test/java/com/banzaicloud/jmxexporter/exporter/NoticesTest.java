package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the application chose is bounded and encoded in the header. */
class NoticesTest {

    private final Map<String, String> pairs = new HashMap<>();

    @Test
    void nothingToSay() {
        assertNull(Notices.all(null));
        assertEquals("", Notices.all(pairs));
        assertNull(Notices.ofPublic(null));
    }

    @Test
    void isEncoded() {
        pairs.put("skipped", "1");
        pairs.put("skipped.domain", "a b&c=d\r\nX: y\u00e9");
        pairs.put("message", "A rule with a name of the application.");
        assertEquals("skipped=1&skipped.domain=a+b%26c%3Dd%0D%0AX%3A+y%C3%A9", Notices.all(pairs));
        assertEquals("skipped=1", Notices.ofPublic(pairs));
    }

    @Test
    void whatIsTooLongIsLeftOut() {
        char[] patterns = new char[1024];
        Arrays.fill(patterns, '\u20ac');
        pairs.put("expensive", "CPU");
        pairs.put("expensive.rule", "3");
        pairs.put("expensive.include", new String(patterns));
        pairs.put("skipped", "2");
        pairs.put("skipped.domain", "a");
        assertEquals("skipped=2&expensive=CPU&expensive.rule=3&skipped.domain=a", Notices.all(pairs));
    }
}
