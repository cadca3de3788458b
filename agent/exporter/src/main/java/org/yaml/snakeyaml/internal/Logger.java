package org.yaml.snakeyaml.internal;

/** Takes the place of SnakeYAML's own class, which warns of duplicate keys on the application's output. */
public final class Logger {

    private static final Logger SILENT = new Logger();

    private Logger() {}

    /** What SnakeYAML asks for. */
    public enum Level {
        /** For mistakes. */
        WARNING,
        /** For details. */
        DEBUG
    }

    /** The silent logger, for every class. */
    public static Logger getLogger(String name) {
        return SILENT;
    }

    /** Never. */
    public boolean isLoggable(Level level) {
        return false;
    }

    /** Ignores the message. */
    public void warn(String message) {}

    /** Ignores the message. */
    public void debug(String message) {}
}
