package com.banzaicloud.jmxexporter.rules;

/** Takes the place of {@link java.util.regex.Pattern} in the collector: matches the patterns of rules within their budget. */
public final class Pattern {

    private final java.util.regex.Pattern pattern;
    /** Null for the collector's own patterns, which are harmless. */
    private final Rule rule;

    private Pattern(java.util.regex.Pattern pattern, Rule rule) {
        this.pattern = pattern;
        this.rule = rule;
    }

    /** As {@link java.util.regex.Pattern#compile(String)}. */
    public static Pattern compile(String regex) {
        return new Pattern(java.util.regex.Pattern.compile(regex), Rules.compiled(regex));
    }

    /** As {@link java.util.regex.Pattern#matcher(CharSequence)}. */
    public Matcher matcher(CharSequence text) {
        return new Matcher(pattern, rule, text);
    }
}
