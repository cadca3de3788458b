package configuration

import "go.yaml.in/yaml/v3"

// entries returns a mapping's own entries and those that << merges into it.
func (c *checker) entries(n *yaml.Node, depth int) ([]entry, error) {
	n = resolve(n)
	if all, found := c.flat[n]; found {
		return all, nil
	}
	if depth > maxNesting {
		return nil, invalid(n, "mappings are merged more than %d deep, or into themselves", maxNesting)
	}
	var own, merged []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := c.merge(value, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if first, found := lines[key.Value]; found && key.Kind == yaml.ScalarNode {
			return nil, invalid(n.Content[i], "duplicate key, first on line %d; the exporter would use only the last one", first)
		}
		lines[key.Value] = n.Content[i].Line
		own = append(own, entry{n.Content[i], value})
	}
	for _, e := range merged {
		if _, found := lines[resolve(e.key).Value]; !found {
			lines[resolve(e.key).Value] = e.key.Line
			own = append(own, e)
		}
	}
	c.flat[n] = own
	return own, nil
}

// merge returns the entries of n, the value of <<: a mapping or a list of mappings.
func (c *checker) merge(n *yaml.Node, depth int) ([]entry, error) {
	switch kindOf(n) {
	case kindMapping:
		return c.entries(n, depth+1)
	case kindList:
		var all []entry
		for _, item := range resolve(n).Content {
			if kindOf(item) != kindMapping {
				return nil, invalid(item, "<< can merge only mappings, and this is %s", kindOf(item))
			}
			more, err := c.entries(item, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	default:
		return nil, invalid(n, "<< can merge only mappings, and this is %s", kindOf(n))
	}
}
