package com.banzaicloud.jmxexporter.rules;

/** Reads the text of a pattern that java.util.regex accepts for what has to be known before it is matched. */
final class PatternReader {

    /** Characters that mean more than themselves. */
    private static final String META = "\\^$.|?*+()[]{}";
    private static final String NO_CHARACTERS = "bBAGzZ";

    private final String pattern;
    private final Paths paths;
    private int at;
    private boolean comments;
    /** Whether the pattern as a whole is an alternation. */
    private boolean alternatives;

    PatternReader(String pattern) {
        this.pattern = pattern;
        paths = alternatives(0);
    }

    /** Returns an upper bound of the paths from one character of a text to the next that is read. */
    int paths() {
        return paths.most();
    }

    /** Returns characters, perhaps none, with which each text that matches begins where the pattern does. */
    String prefix() {
        int end = 0;
        while (end < pattern.length() && META.indexOf(pattern.charAt(end)) < 0 && pattern.charAt(end) < 128) {
            end++;
        }
        if (end < pattern.length() && end > 0 && "?*{".indexOf(pattern.charAt(end)) >= 0) {
            end--; // It need not be there.
        }
        return alternatives ? "" : pattern.substring(0, end);
    }

    private Paths alternatives(int depth) {
        Paths all = sequence(depth);
        while (has('|')) {
            at++;
            alternatives |= depth == 0;
            all = all.or(sequence(depth));
        }
        return all;
    }

    private Paths sequence(int depth) {
        Paths all = Paths.OF_NOTHING;
        while (at < pattern.length() && !has('|') && !(has(')') && depth > 0)) {
            all = all.then(repeated(part(depth)));
        }
        return all;
    }

    private Paths part(int depth) {
        char c = pattern.charAt(at++);
        switch (c) {
            case '(':
                return group(depth + 1);
            case '[':
                skipClass();
                return Paths.OF_CHARACTER;
            case '\\':
                return escape();
            case '^':
            case '$':
                return Paths.OF_NOTHING;
            case '#':
                if (comments) {
                    skipPast('\n');
                    return Paths.OF_NOTHING;
                }
                return Paths.OF_CHARACTER;
            default:
                return comments && c <= ' ' ? Paths.OF_NOTHING : Paths.OF_CHARACTER;
        }
    }

    private Paths repeated(Paths part) {
        Paths all = part;
        while (at < pattern.length()) {
            boolean counted = has('{') && at + 1 < pattern.length() && Character.isDigit(pattern.charAt(at + 1));
            if (!counted && !has('?') && !has('*') && !has('+')) {
                break;
            }
            all = all.repeated(counted ? pattern.charAt(at + 1) == '0' : !has('+'));
            if (counted) {
                skipPast('}');
            } else {
                at++;
            }
            if (has('?') || has('+')) {
                at++; // Lazy or possessive.
            }
        }
        return all;
    }

    private Paths group(int depth) {
        boolean outside = comments;
        boolean look = false;
        if (has('?')) {
            at++;
            char kind = pattern.charAt(at++);
            boolean behind = kind == '<' && (has('=') || has('!'));
            look = behind || kind == '=' || kind == '!';
            if (behind) {
                at++;
            } else if (kind == '<') {
                skipPast('>');
            } else if (!look && kind != ':' && kind != '>') {
                at--;
                if (flags()) {
                    return Paths.OF_NOTHING;
                }
            }
        }
        Paths inside = alternatives(depth);
        at++;
        comments = outside;
        return look ? inside.asLook() : inside;
    }

    /** Reads flags, and reports whether they are for what follows them, instead of a group of their own. */
    private boolean flags() {
        boolean on = true;
        while (!has(':') && !has(')') && at < pattern.length()) {
            on &= !has('-');
            comments = has('x') ? on : comments;
            at++;
        }
        boolean following = has(')');
        at++;
        return following;
    }

    private Paths escape() {
        char c = pattern.charAt(at++);
        if (c == 'Q') {
            int end = pattern.indexOf("\\E", at);
            Paths quoted = end == at ? Paths.OF_NOTHING : Paths.OF_CHARACTER;
            at = end < 0 ? pattern.length() : end + 2;
            return quoted;
        }
        if (c == 'k') { // A group by its name, which may be empty.
            skipPast('>');
            return Paths.OF_NOTHING;
        }
        if (c >= '1' && c <= '9') {
            while (at < pattern.length() && Character.isDigit(pattern.charAt(at))) {
                at++;
            }
            return Paths.OF_NOTHING;
        }
        if (c == 'b' && pattern.startsWith("{g}", at)) {
            at += 3;
        } else if (c == 'c') {
            at++;
        }
        return NO_CHARACTERS.indexOf(c) >= 0 ? Paths.OF_NOTHING : Paths.OF_CHARACTER;
    }

    private void skipClass() {
        at += has('^') ? 1 : 0;
        at += has(']') ? 1 : 0;
        for (int depth = 1; depth > 0 && at < pattern.length(); ) {
            char c = pattern.charAt(at++);
            if (c == '\\' && has('Q')) {
                int end = pattern.indexOf("\\E", at);
                at = end < 0 ? pattern.length() : end + 2;
            } else if (c == '\\') {
                at++;
            } else if (c == '[') {
                depth++;
            } else if (c == ']') {
                depth--;
            }
        }
    }

    private boolean has(char c) {
        return at < pattern.length() && pattern.charAt(at) == c;
    }

    private void skipPast(char c) {
        int found = pattern.indexOf(c, at);
        at = found < 0 ? pattern.length() : found + 1;
    }
}
