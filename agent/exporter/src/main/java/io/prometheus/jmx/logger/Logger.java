package io.prometheus.jmx.logger;

import com.banzaicloud.jmxexporter.rules.Rules;

/**
 * Takes the place of the collector's own class, and says nothing. That one logs through java.util.logging, which
 * ends on the application's output, prints there by itself when told to debug, and needs the module java.logging.
 */
public final class Logger {

    static final Logger SILENT = new Logger();

    private Logger() {}

    /** Never. */
    public boolean isTraceEnabled() {
        return false;
    }

    /** Ignores the message. */
    public void trace(String message) {}

    /** Ignores the message. */
    public void trace(String format, Object object) {}

    /** Ignores the message. The collector has one for each sample: there, a collection that nobody wants any more ends. */
    public void trace(String format, Object... objects) {
        Rules.checkpoint();
    }

    /** Ignores the message. */
    public void warn(String format, Object... objects) {}

    /** Ignores the message. */
    public void error(String message) {}

    /** Ignores the message. */
    public void error(String format, Object... objects) {}
}
