package com.banzaicloud.jmxexporter.rules;

/** Takes the place of {@link java.util.regex.Matcher} in the collector, with those of its methods that the collector calls. */
public final class Matcher {

    private final Rule rule;
    /** Null where a text cannot match. */
    private final java.util.regex.Matcher matcher;

    Matcher(java.util.regex.Pattern pattern, Rule rule, CharSequence text) {
        this.rule = rule;
        matcher = rule == null ? pattern.matcher(text) : rule.matcher(pattern, text.toString());
    }

    /** As {@link java.util.regex.Matcher#matches()}; a rule that is switched off, be it by this match, matches nothing. */
    public boolean matches() {
        return rule == null ? matcher.matches() : matcher != null && rule.matches(matcher);
    }

    /** As {@link java.util.regex.Matcher#replaceAll(String)}; the collector calls it where the text matches only. */
    public String replaceAll(String replacement) {
        return rule == null ? matcher.replaceAll(replacement) : rule.replaceAll(matcher, replacement);
    }

    /** As {@link java.util.regex.Matcher#lookingAt()}; the collector calls it on patterns of its own only. */
    public boolean lookingAt() {
        return matcher.lookingAt();
    }

    /** As {@link java.util.regex.Matcher#group(int)}. */
    public String group(int group) {
        return matcher.group(group);
    }

    /** As {@link java.util.regex.Matcher#end()}. */
    public int end() {
        return matcher.end();
    }

    /** As {@link java.util.regex.Matcher#reset(CharSequence)}; the collector calls it on patterns of its own only. */
    public Matcher reset(CharSequence text) {
        matcher.reset(text);
        return this;
    }

    /** As {@link java.util.regex.Matcher#toString()}. */
    @Override
    public String toString() {
        return matcher.toString();
    }
}
