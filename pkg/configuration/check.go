package configuration

import "go.yaml.in/yaml/v3"

// Limits of the exporter's own YAML parser.
const (
	maxNesting = 50
	maxAliases = 50
)

// entry is a key of a mapping and its value.
type entry struct{ key, value *yaml.Node }

// checker holds the state that the checks of one configuration share.
type checker struct {
	// lines holds the lines of the configuration if it has tabs.
	lines [][]rune
	// aliases counts the aliases of lists and mappings.
	aliases int
	// flat caches the entries of mappings, including merged ones, since aliases may merge
	// a mapping into many, and those into others.
	flat map[*yaml.Node][]entry
	// ignored holds the unknown top-level keys, for a warning.
	ignored []*yaml.Node
}

// check returns an *Error if the collector cannot use n, the value of the key at path.
type check func(c *checker, path string, n *yaml.Node) error

// keys maps the keys that a mapping may have to the checks of their values.
type keys map[string]check
