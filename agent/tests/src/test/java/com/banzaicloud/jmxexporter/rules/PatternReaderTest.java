package com.banzaicloud.jmxexporter.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is known of a pattern before it is matched: what a text must contain, and how often it can choose without reading. */
class PatternReaderTest {

    @ParameterizedTest
    @CsvSource(delimiter = ' ', nullValues = "none", value = {
        "kafka.server<type=(.+)> kafka", "kafka<type=(a|b)[|]\\|> kafka<type=", "ab+ ab", "ab* a", "ab? a", "ab{0}c a", "a* none", "a|b none", "(a|b)c|d none",
        "^a none", "\\Qa|b\\E none", "a\\Q|\\E a", "a[]|]b a", "a[^]|]b a", "a[b[c]|]d a", "(?i)a none", "ä none", "a(?x)|b none", "java.lang<type=Memory><Heap>used: java"})
    void prefix(String pattern, String prefix) {
        Pattern.compile(pattern);
        assertEquals(prefix == null ? "" : prefix, new PatternReader(pattern).prefix());
    }

    /** Patterns as they are used: they read a character for each choice. */
    @ParameterizedTest
    @ValueSource(strings = {".*", "", "a", "kafka.(\\w+)<type=(.+), name=(.+)PerSec\\w*><>(Count|Value|Mean)", "(a|b|c)(d|e|f)(g|h)(i|j)(k|l)",
        "java.lang<type=(.+)(, name=(.+))?(, zone=(.+))?(, (.+)=(.+))?><>(.*)", "Catalina<type=([^,]+)(?:, [^=]+=[^,>]+)*><(.*)>(\\w+): (-?\\d+(?:\\.\\d+)?)",
        "(.*)(.*)(.*)(.*)(.*)(.*)", "(\\d+)|(\\w+)|([a-z[A-Z]]+)", "(a|)(b|)(c|)(d|)", "\\Q(|)(|)\\E", "[(|)(|)]", "\\(|\\)|\\||x", "a{2,3}b{0,1}c*?d++"})
    void innocent(String pattern) {
        Pattern.compile(pattern);
        assertTrue(new PatternReader(pattern).paths() <= 2, "paths: " + new PatternReader(pattern).paths());
    }

    @ParameterizedTest
    @CsvSource(delimiter = ' ', value = {
        "(|)(|)(|)x 8", "(|)(|)x(|)(|)(|)y 8", "((|)(|))((|)(|))x 16", "(a*|b*)(a*|b*)x 4", "(?:|){3}x 2", "()?()?()?x 8", "(|)x(|)|y(|)(|) 4", "(x(|)(|))(|)y 8",
        "(?=|)(|)x 2", "(?=(|)(|))x 4", "(|)(?<n>|)\\k<n>\\1\\b\\b{g}^$(|)x 8", "[|](|)[^(](|)(|)x 4", "(|||)(|||)x 16", "\\Q\\E(|)(|)x 4"})
    void choicesThatReadNothingMultiply(String pattern, int paths) {
        Pattern.compile(pattern);
        assertEquals(paths, new PatternReader(pattern).paths(), pattern);
    }

    @Test
    void commentsReadNothing() {
        assertEquals(8, new PatternReader("(?x)(|) #(\n(|)\t(|)x").paths());
        assertEquals(8, new PatternReader("((?x)(|) (|) )(|)(?-x: )(|)(|)x").paths());
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 1000, 20_000})
    void manyAreMore(int count) {
        assertEquals(Paths.MANY, new PatternReader("(|)".repeat(count) + "x").paths());
    }
}
