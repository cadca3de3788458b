package com.banzaicloud.jmxexporter.rules;

/** Replaces a text that matched without matching it again, as {@link java.util.regex.Matcher#replaceAll(String)} does. */
final class Replacement {

    private Replacement() {}

    /**
     * Expands a replacement with the groups of a whole text that matched. The collector's patterns begin with
     * <code>^.*</code> and end with <code>.*$</code>, so they match a text of one line as a whole or not at all.
     *
     * @return null where that does not hold, or the replacement has an escape, a named group or an error
     */
    static String expand(String replacement, java.util.regex.Matcher matched) {
        if (replacement.indexOf('\\') >= 0 || !isOneLine(matched.group())) {
            return null;
        }
        int dollar = replacement.indexOf('$');
        if (dollar < 0) {
            return replacement;
        }
        StringBuilder expanded = new StringBuilder();
        int at = 0;
        for (; dollar >= 0; dollar = replacement.indexOf('$', at)) {
            expanded.append(replacement, at, dollar);
            int group = 0;
            for (at = dollar + 1; at < replacement.length() && isDigit(replacement.charAt(at)); at++) {
                int next = group * 10 + replacement.charAt(at) - '0';
                if (next > matched.groupCount()) {
                    break; // A digit behind the number of the group, unless it is the first.
                }
                group = next;
            }
            if (at == dollar + 1) {
                return null;
            }
            String value = matched.group(group);
            expanded.append(value == null ? "" : value);
        }
        return expanded.append(replacement, at, replacement.length()).toString();
    }

    /** Reports whether a dot matches each character. */
    private static boolean isOneLine(String text) {
        for (int i = 0; i < text.length(); i++) {
            switch (text.charAt(i)) {
                case '\n':
                case '\r':
                case '\u0085':
                case '\u2028':
                case '\u2029':
                    return false;
                default:
            }
        }
        return true;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
