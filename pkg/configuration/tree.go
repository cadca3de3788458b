package configuration

import "go.yaml.in/yaml/v3"

// tree checks a node and its children independently of their keys: the exporter's YAML
// parser limits nesting and aliases, merges only mappings, and constructs no Java classes.
func (c *checker) tree(n *yaml.Node, depth int) error {
	if depth > maxNesting {
		return invalid(n, "lists and mappings are nested more than %d deep", maxNesting)
	}
	if c.tabBefore(n) {
		return &Error{Reason: ConfigNotYAML, Line: n.Line, Message: "a tab precedes a value; the exporter takes spaces only"}
	}
	if n.Kind == yaml.AliasNode {
		return c.alias(n)
	}
	if !tagFits(n) {
		return invalid(n, "a tag is not one of the exporter's, or its value is not of that type")
	}
	start := c.size
	if err := c.add(n, nodeSize+len(n.Value)); err != nil {
		return err
	}
	for i, child := range n.Content {
		if err := c.tree(child, depth+1); err != nil {
			return err
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 && isMerge(n.Content[i-1]) {
			if err := mergeable(child); err != nil {
				return err
			}
		}
	}
	c.sizes[n] = c.size - start
	return nil
}

// alias counts an alias as what it stands for: a merge makes another mapping of it, and a
// rule another pattern.
func (c *checker) alias(n *yaml.Node) error {
	if n.Alias.Kind != yaml.ScalarNode {
		c.aliases++
	}
	if c.aliases > maxAliases {
		return invalid(n, "more than %d aliases stand for lists or mappings", maxAliases)
	}
	size, found := c.sizes[n.Alias]
	if !found {
		return invalid(n, "an alias stands for a list or mapping that contains it")
	}
	return c.add(n, size)
}

func (c *checker) add(n *yaml.Node, size int) error {
	c.size += size
	if c.size <= maxExpandedSize {
		return nil
	}
	return tooLarge(n.Line, "with aliases expanded, the configuration has more than %d bytes, where each key, value, list and mapping "+
		"counts %d in addition to its text; it is kept on the application's heap", maxExpandedSize, nodeSize)
}

func isMerge(key *yaml.Node) bool { return resolve(key).Tag == "!!merge" }

// mergeable checks n, the value of <<: a mapping or a list of mappings.
func mergeable(n *yaml.Node) error {
	merged := []*yaml.Node{n}
	if kindOf(n) == kindList {
		merged = resolve(n).Content
	}
	for _, item := range merged {
		if kindOf(item) != kindMapping {
			return invalid(item, "<< can merge only mappings, and this is %s", kindOf(item))
		}
	}
	return nil
}
