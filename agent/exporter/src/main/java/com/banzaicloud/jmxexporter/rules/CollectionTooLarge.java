package com.banzaicloud.jmxexporter.rules;

/** Ends a collection for which the application has too little heap. Thrown through the collector, which catches exceptions, so it is none. */
public final class CollectionTooLarge extends Error {

    private static final long serialVersionUID = 1;

    CollectionTooLarge(String sentence) {
        super(sentence, null, false, false);
    }
}
