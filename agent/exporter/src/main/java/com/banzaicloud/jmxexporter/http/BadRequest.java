package com.banzaicloud.jmxexporter.http;

/** A request that is refused before a handler sees it: a status from 400 on, and a sentence for the client. */
final class BadRequest extends Exception {

    private static final long serialVersionUID = 1;

    private final int status;

    BadRequest(int status, String sentence) {
        super(sentence, null, false, false); // Where in the parser it was thrown helps nobody.
        this.status = status;
    }

    int status() {
        return status;
    }
}
