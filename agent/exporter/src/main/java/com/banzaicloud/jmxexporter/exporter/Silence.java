package com.banzaicloud.jmxexporter.exporter;

import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Keeps the libraries quiet: what they log would land on the application's output. The loggers are known by
 * their relocated names, so those of an application that uses the same libraries are not touched.
 */
final class Silence {

    private static final String LOGGERS = "com.banzaicloud.jmxexporter.shaded";

    /** Held, since the log manager forgets the level of a logger that nobody holds. */
    private Logger logger;

    void begin() {
        logger = Logger.getLogger(LOGGERS);
        logger.setLevel(Level.OFF);
    }

    void end() {
        if (logger != null) {
            logger.setLevel(null);
            logger = null;
        }
    }
}
