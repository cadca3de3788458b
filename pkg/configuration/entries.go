package configuration

import "go.yaml.in/yaml/v3"

// identity is what two scalars have in common if they are the same key. No two other keys
// are the same.
type identity struct {
	kind  kind
	value string
	other *yaml.Node
}

func identify(key *yaml.Node) identity {
	key = resolve(key)
	if key.Kind == yaml.ScalarNode {
		return identity{kind: kindOf(key), value: key.Value}
	}
	return identity{other: key}
}

// entries returns a mapping's own entries and those that << merges into it. Of a key that
// is repeated, the last one counts.
func (c *checker) entries(n *yaml.Node) []entry {
	n = resolve(n)
	if all, found := c.flat[n]; found {
		return all
	}
	var all, merged []entry
	index := map[identity]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		own := entry{n.Content[i], n.Content[i+1]}
		if isMerge(own.key) {
			merged = append(merged, c.merge(own.value)...)
			continue
		}
		if at, found := index[identify(own.key)]; found {
			c.repeated = append(c.repeated, repeated{all[at].key, own.key})
			all[at] = own
			continue
		}
		index[identify(own.key)] = len(all)
		all = append(all, own)
	}
	for _, e := range merged {
		if _, found := index[identify(e.key)]; !found {
			index[identify(e.key)] = len(all)
			all = append(all, e)
		}
	}
	c.flat[n] = all
	return all
}

// merge returns the entries of n, the value of <<.
func (c *checker) merge(n *yaml.Node) []entry {
	if kindOf(n) == kindMapping {
		return c.entries(n)
	}
	var all []entry
	for _, item := range resolve(n).Content {
		all = append(all, c.entries(item)...)
	}
	return all
}
