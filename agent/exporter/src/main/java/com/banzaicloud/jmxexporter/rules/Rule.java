package com.banzaicloud.jmxexporter.rules;

/**
 * One rule that has a pattern, and its budget: how many characters it may read, and write, in one collection. What a regular
 * expression costs is the characters that it reads, many times when it backtracks, times the {@link Paths} on which
 * it continues from one without reading another. Counting them, unlike looking at a clock, switches off the same rule on
 * the same MBeans on every machine, and none because a machine stalls, is short of CPU, or still interprets its code.
 */
final class Rule {

    /** Characters that a rule may read in one collection beyond its income: about half a second of CPU. */
    private static final long SAVINGS = 20_000_000;
    /**
     * How often a rule may read each text. Most read it ten times, one of nothing but <code>(.+)</code> some two
     * hundred times. More than the savings are never kept, so many cheap texts do not pay for an expensive one.
     */
    private static final long INCOME = 1000;

    /** Characters of one name, value, label or help: they are kept until the answer is written. */
    private static final long RESULT = 64 << 10;

    static final Error TOO_EXPENSIVE = new Error("too expensive", null, false, false) {
        private static final long serialVersionUID = 1;
    };

    private final Rules rules;
    private final int number;
    private final String pattern;
    /** Without this, a text does not match. */
    private String prefix;
    private int paths;
    private long left;
    private final RuleCost cost = new RuleCost();
    private volatile boolean off;

    Rule(Rules rules, int number, String pattern) {
        this.rules = rules;
        this.number = number;
        this.pattern = pattern;
    }

    /**
     * Reports whether the collector compiles this for the rule's pattern.
     *
     * @throws java.util.regex.PatternSyntaxException for a pattern that is one only with the collector's parentheses
     *         around it: that would not match the way it is counted
     */
    boolean compilesTo(String regex) {
        if (!regex.equals("^.*(?:" + pattern + ").*$")) {
            return false;
        }
        java.util.regex.Pattern.compile(pattern);
        PatternReader reader = new PatternReader(pattern);
        prefix = reader.prefix();
        paths = reader.paths();
        return true;
    }

    void collectionStarts() {
        left = SAVINGS;
        cost.collectionStarts();
    }

    int number() {
        return number;
    }

    RuleCost cost() {
        return cost;
    }

    boolean isOff() {
        return off;
    }

    /** A matcher that the rule pays for; null where the text cannot match. */
    java.util.regex.Matcher matcher(java.util.regex.Pattern compiled, String text) {
        rules.checkStopped();
        return off || !text.contains(prefix) ? null : compiled.matcher(new Text(text, this));
    }

    boolean matches(java.util.regex.Matcher matcher) {
        earn(matcher);
        cost.begin();
        try {
            return matcher.matches();
        } catch (StackOverflowError e) { // In java.util.regex an alternative in a loop takes stack for each character.
            off = true;
        } catch (Error e) {
            if (e != TOO_EXPENSIVE) {
                throw e;
            }
            off = true;
        } finally {
            cost.end();
        }
        return false;
    }

    /**
     * Ends the collection where it is too expensive: {@link Rules#collect} begins it again without this rule.
     *
     * @param matched has matched the text
     */
    String replaceAll(java.util.regex.Matcher matched, String replacement) {
        earn(matched);
        cost.begin();
        try {
            if (longest(replacement, matched.regionEnd()) > RESULT) {
                throw TOO_EXPENSIVE;
            }
            String result = Replacement.expand(replacement, matched);
            if (result == null) {
                result = matched.pattern().matcher(new Text(matched.group(), this)).replaceAll(replacement);
            }
            rules.produce(result.length());
            return result;
        } catch (StackOverflowError e) {
            off = true;
            throw TOO_EXPENSIVE;
        } catch (Error e) {
            off = off || e == TOO_EXPENSIVE;
            throw e;
        } finally {
            cost.end();
        }
    }

    /** A group is no longer than the text. */
    private static long longest(String replacement, int text) {
        long longest = replacement.length();
        for (int at = replacement.indexOf('$'); at >= 0; at = replacement.indexOf('$', at + 1)) {
            longest += text;
        }
        return longest;
    }

    private void earn(java.util.regex.Matcher matcher) {
        left = Math.min(SAVINGS, left + INCOME * matcher.regionEnd());
    }

    /** Pays for characters read. */
    void pay(int characters) {
        rules.checkStopped();
        left -= (long) characters * paths;
        if (left < 0) {
            throw TOO_EXPENSIVE;
        }
    }

    /** Names the rule for a person. */
    @Override
    public String toString() {
        return "Rule " + number + " (" + (pattern.length() <= 200 ? pattern : pattern.substring(0, 200) + "…") + ")";
    }
}
