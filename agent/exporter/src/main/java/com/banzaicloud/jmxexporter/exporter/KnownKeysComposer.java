package com.banzaicloud.jmxexporter.exporter;

import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.composer.Composer;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Drops the top-level keys that nobody reads before they become objects: what is below them stays off the heap, and
 * rejects nothing. What has an anchor there can still be merged elsewhere.
 */
final class KnownKeysComposer extends Composer {

    private KnownKeysComposer(String text, LoaderOptions options) {
        super(new BoundedParser(text, options), new Resolver(), options);
    }

    /** What SnakeYAML's class Yaml does, which would load what writes YAML as well. Null if the text has no content. */
    static Object load(String text) {
        LoaderOptions options = new LoaderOptions();
        // Otherwise SnakeYAML takes the merges out of a mapping whose own turn never comes, since its key was dropped.
        options.setMergeOnCompose(true);
        SafeConstructor constructor = new SafeConstructor(options);
        constructor.setComposer(new KnownKeysComposer(text, options));
        return constructor.getSingleData(Object.class);
    }

    @Override
    public Node getSingleNode() {
        Node root = super.getSingleNode();
        if (root instanceof MappingNode) {
            ((MappingNode) root).getValue().removeIf(entry -> !isRead(entry.getKeyNode()));
        }
        return root;
    }

    private static boolean isRead(Node key) {
        return key instanceof ScalarNode && key.getTag().equals(Tag.STR) && Keys.isRead(((ScalarNode) key).getValue());
    }
}
