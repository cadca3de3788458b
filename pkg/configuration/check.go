package configuration

import "go.yaml.in/yaml/v3"

// entry is a key of a mapping and its value.
type entry struct{ key, value *yaml.Node }

// repeated is a key that a mapping has twice.
type repeated struct{ first, last *yaml.Node }

// checker holds the state that the checks of one configuration share.
type checker struct {
	// lines holds the lines of the configuration if it has tabs.
	lines [][]rune
	// aliases counts the aliases of lists and mappings.
	aliases int
	// size is the size of what was visited, with aliases expanded; sizes has the size of
	// each node that was visited whole.
	size  int
	sizes map[*yaml.Node]int
	// flat caches the entries of mappings, including merged ones, since aliases may merge
	// a mapping into many, and those into others.
	flat map[*yaml.Node][]entry
	// unknown, ineffective and repeated are keys that warnings are about.
	unknown     []*yaml.Node
	ineffective []string
	repeated    []repeated
}

// check returns an *Error if the collector cannot use n, the value of the key at path.
type check func(c *checker, path string, n *yaml.Node) error

// keys maps the keys that a mapping may have to the checks of their values.
type keys map[string]check
