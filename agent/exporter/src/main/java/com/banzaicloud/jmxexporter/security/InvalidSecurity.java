package com.banzaicloud.jmxexporter.security;

/** Why a security file cannot be served with, in a sentence that repeats nothing of what is in it. */
public final class InvalidSecurity extends Exception {

    private static final long serialVersionUID = 1;

    InvalidSecurity(String sentence) {
        super(sentence);
    }
}
