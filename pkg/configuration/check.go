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
	// ignored are the unknown keys at the top, for a warning.
	ignored []*yaml.Node
}

// check returns an *Error if the value n of the key at path is not what the
// collector can use.
type check func(c *checker, path string, n *yaml.Node) error
