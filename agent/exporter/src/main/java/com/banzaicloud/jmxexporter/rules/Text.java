package com.banzaicloud.jmxexporter.rules;

/** What a rule is matched with: the rule pays for what is read of it. */
final class Text implements CharSequence {

    /** How many characters are paid for at once: looking at the budget costs more than reading one. */
    private static final int BLOCK = 1024;

    private final String text;
    private final Rule rule;
    private int paid;

    Text(String text, Rule rule) {
        this.text = text;
        this.rule = rule;
    }

    @Override
    public char charAt(int index) {
        if (--paid < 0) {
            paid = BLOCK - 1;
            rule.pay(BLOCK);
        }
        return text.charAt(index);
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
        return text.substring(start, end);
    }

    @Override
    public String toString() {
        return text;
    }
}
