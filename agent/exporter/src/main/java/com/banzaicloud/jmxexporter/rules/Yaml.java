package com.banzaicloud.jmxexporter.rules;

import java.io.InputStream;
import java.io.Reader;
import org.yaml.snakeyaml.constructor.BaseConstructor;

/**
 * Takes the place of SnakeYAML's class in the collector, which parses its configuration itself. It gets the one that
 * was parsed and completed already, with the method that is called for one that is given as text.
 */
public final class Yaml {

    /** For the collector, which says that values may not name classes. No text is parsed, so nothing constructs them. */
    public Yaml(BaseConstructor unused) {}

    /** What the collector shall take for the content of the text. */
    @SuppressWarnings("unchecked") // SnakeYAML's signature.
    public <T> T load(String text) {
        return (T) Rules.parsed();
    }

    /** As for text; the agent does not use what in the collector calls this. */
    public <T> T load(InputStream in) {
        return load("");
    }

    /** As for text; the agent does not use what in the collector calls this. */
    public <T> T load(Reader reader) {
        return load("");
    }
}
