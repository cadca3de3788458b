package com.banzaicloud.jmxexporter.rules;

/**
 * On how many paths a part of a pattern continues without reading a character. Each is a choice to match nothing, and
 * choices in a row multiply: <code>(|)(|)(|)x</code> has eight. Upper bounds all, and none above {@link #MANY}.
 */
final class Paths {

    /** As many as no rule can pay for. */
    static final int MANY = 1 << 15;

    static final Paths OF_CHARACTER = new Paths(0, 1, 1);
    static final Paths OF_NOTHING = new Paths(1, 0, 1);

    /** Paths through the part that read nothing at all. */
    private final int empty;
    /** Paths from the last character that is read in the part to its end. */
    private final int tail;
    /** The most paths from one character, or the beginning of the part, until another character is read. */
    private final int most;

    private Paths(int empty, int tail, int most) {
        this.empty = Math.min(MANY, empty);
        this.tail = Math.min(MANY, tail);
        this.most = Math.min(MANY, most);
    }

    int most() {
        return most;
    }

    /** Those of this part and another one behind it. */
    Paths then(Paths next) {
        int arriving = Math.max(1, Math.max(empty, tail));
        return new Paths(product(empty, next.empty), Math.max(product(tail, next.empty), next.tail), Math.max(most, product(arriving, next.most)));
    }

    /** Those of this part or another one. */
    Paths or(Paths other) {
        return new Paths(empty + other.empty, Math.max(tail, other.tail), Math.max(empty + other.empty, Math.max(most, other.most)));
    }

    /** Those of this part as often as a quantifier says. An iteration that reads nothing is the last one. */
    Paths repeated(boolean optional) {
        int end = optional ? empty + 1 : empty;
        return new Paths(end, tail, Math.max(end, product(most, Math.max(1, tail))));
    }

    /** Those of this part as a look ahead or behind, which is passed on one path. */
    Paths asLook() {
        return new Paths(1, 0, most);
    }

    private static int product(int a, int b) {
        return Math.min(MANY, a * b);
    }
}
