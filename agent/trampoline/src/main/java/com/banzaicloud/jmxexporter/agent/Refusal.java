package com.banzaicloud.jmxexporter.agent;

/** A sentence for the person who reads the mark: what was refused, and what to do. */
public final class Refusal extends Exception {

    private static final long serialVersionUID = 1;

    Refusal(String sentence) {
        super(sentence);
    }

    @Override
    public String toString() {
        return getMessage();
    }
}
