package configuration

import "go.yaml.in/yaml/v3"

// tree checks a node and its children independently of their keys: the exporter's YAML
// parser limits nesting and aliases, and constructs no Java classes.
func (c *checker) tree(n *yaml.Node, depth int) error {
	if depth > maxNesting {
		return invalid(n, "lists and mappings are nested more than %d deep", maxNesting)
	}
	if c.tabBefore(n) {
		return &Error{Reason: ConfigNotYAML, Line: n.Line, Message: "a tab precedes a value; the exporter takes spaces only"}
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias.Kind != yaml.ScalarNode {
			c.aliases++
		}
		if c.aliases > maxAliases {
			return invalid(n, "more than %d aliases stand for lists or mappings", maxAliases)
		}
		return nil
	}
	if !tagFits(n) {
		return invalid(n, "a tag is not one of the exporter's, or its value is not of that type")
	}
	for _, child := range n.Content {
		if err := c.tree(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
