package com.banzaicloud.jmxexporter.exporter;

/** Why there are no metrics now, in a sentence for the client. */
final class Unavailable extends Exception {

    private static final long serialVersionUID = 1;

    private final int status;

    Unavailable(int status, String sentence) {
        super(sentence, null, false, false);
        this.status = status;
    }

    /** The HTTP status. */
    int status() {
        return status;
    }
}
