package com.banzaicloud.jmxexporter.exporter;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.AliasEvent;
import org.yaml.snakeyaml.events.Event;
import org.yaml.snakeyaml.events.NodeEvent;
import org.yaml.snakeyaml.events.ScalarEvent;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.StreamReader;

/**
 * Ends before a configuration becomes too much of the application's heap. An alias counts as what it stands for, since
 * a merge makes another mapping of it, and a rule another pattern. The operator counts in the same way
 * (pkg/configuration/tree.go), and so refuses what would be refused here.
 */
final class BoundedParser extends ParserImpl {

    /** What a key, value, list or mapping counts beside its characters. */
    private static final int NODE_SIZE = 16;
    /** Aliases aside, a file of the largest size has no more if it has a node for each 16 characters; people write fewer. */
    private static final int MAX_EXPANDED_SIZE = 2 * Configuration.LIMIT_BYTES;

    private final Map<String, Integer> anchored = new HashMap<>();
    /** The lists and mappings that have not ended. */
    private final Deque<Collection> open = new ArrayDeque<>();
    private int size;

    BoundedParser(String text, LoaderOptions options) {
        super(new StreamReader(text), options);
    }

    @Override
    public Event getEvent() {
        Event event = super.getEvent();
        if (event instanceof NodeEvent) {
            count((NodeEvent) event);
        } else if (event.is(Event.ID.SequenceEnd) || event.is(Event.ID.MappingEnd)) {
            Collection ended = open.pop();
            anchored.put(ended.anchor, size - ended.start);
        }
        return event;
    }

    private void count(NodeEvent event) {
        String anchor = event.getAnchor();
        int start = size;
        size += NODE_SIZE;
        if (event instanceof AliasEvent) {
            if (!anchored.containsKey(anchor)) { // SnakeYAML would merge a mapping into itself forever.
                throw new YAMLException("an alias names an anchor that does not end before it");
            }
            size = start + anchored.get(anchor);
        } else if (event instanceof ScalarEvent) {
            size += ((ScalarEvent) event).getValue().length();
            anchored.put(anchor, size - start);
        } else {
            anchored.remove(anchor); // Until it ends.
            open.push(new Collection(anchor, start));
        }
        if (size > MAX_EXPANDED_SIZE) {
            throw new TooLarge();
        }
    }

    /** A list or mapping, and how much there is before it. */
    private static final class Collection {

        private final String anchor;
        private final int start;

        private Collection(String anchor, int start) {
            this.anchor = anchor;
            this.start = start;
        }
    }

    /** Thrown at the first key or value that is too much. */
    static final class TooLarge extends YAMLException {

        private static final long serialVersionUID = 1;

        private TooLarge() {
            super("with aliases expanded, it has more than " + MAX_EXPANDED_SIZE + " bytes, where each key, value, list and mapping counts "
                    + NODE_SIZE + " in addition to its text.");
        }
    }
}
