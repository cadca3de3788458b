package configuration

import "go.yaml.in/yaml/v3"

// checker carries what the checks of one configuration share.
type checker struct {
	// lines of the configuration, if there are tabs in it.
	lines [][]rune
	// aliases counts those to lists and mappings.
	aliases int
	// flat holds the keys of mappings with those merged in, since an alias may
	// merge a mapping into many, and those into others.
	flat map[*yaml.Node][]entry
	// fine are values in order, since an alias may repeat a long one.
	fine map[fine]bool
}

// fine is a value and what it was found to be.
type fine struct {
	node *yaml.Node
	what string
}

// once runs a costly check of a string only once for all its aliases.
func (c *checker) once(path, what string, n *yaml.Node, check func(string) error) error {
	key := fine{resolve(n), what}
	if c.fine[key] {
		return nil
	}
	if err := check(key.node.Value); err != nil {
		return invalid(n, "%s is not %s: %v", path, what, err)
	}
	c.fine[key] = true
	return nil
}

// check returns an *Error if the value n of the key at path is not what the
// collector can use.
type check func(c *checker, path string, n *yaml.Node) error
