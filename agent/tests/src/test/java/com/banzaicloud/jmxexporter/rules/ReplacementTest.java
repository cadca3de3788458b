package com.banzaicloud.jmxexporter.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made without matching again is what java.util.regex makes. */
class ReplacementTest {

    private static final String PATTERN = "^.*(?:(\\w+)<(a)?(.*?)(.)(.)(.)(.)(.)(.)(.)(.)>).*$";
    private static final String TEXT = "some.domain<type=Meter>Count: 7";

    @ParameterizedTest
    @ValueSource(strings = {"", "name", "$0", "$1", "$1_$3_total", "$2", "a$1", "$11", "$12", "$111", "$1$3", "$011", "$10x", "ä$1ß"})
    void sameAsTheLibrary(String replacement) {
        assertEquals(Pattern.compile(PATTERN).matcher(TEXT).replaceAll(replacement), Replacement.expand(replacement, matched(TEXT)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"$", "a$", "$x", "${name}", "\\$1", "\\\\", "$1$"})
    void leftToTheLibrary(String replacement) {
        assertNull(Replacement.expand(replacement, matched(TEXT)));
    }

    /** There, what a pattern finds may be less than what it matches. */
    @ParameterizedTest
    @ValueSource(strings = {"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"})
    void textOfSeveralLines(String end) {
        assertNull(Replacement.expand("$1", matched(TEXT.replace("Meter", "Met" + end))));
    }

    private static Matcher matched(String text) {
        Matcher matcher = Pattern.compile(PATTERN.replace("(.*?)", "([\\s\\S]*?)").replace("(.)", "([\\s\\S])")).matcher(text);
        assertTrue(matcher.matches());
        return matcher;
    }
}
