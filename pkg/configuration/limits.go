package configuration

// MaxSize is the maximum size of a configuration, in bytes. It is limited because each
// pod gets a copy.
const MaxSize = 256 << 10

// What a configuration becomes is kept on the application's heap, so the agent has these
// limits, too (BoundedParser).
const (
	// nodeSize is what a key, value, list or mapping counts in addition to its text.
	nodeSize = 16
	// maxExpandedSize limits a configuration with its aliases expanded. Without aliases, it
	// is not exceeded by a file of MaxSize with a node for each 16 bytes, which is more
	// than people write.
	maxExpandedSize = 2 * MaxSize
)

// Limits of the exporter's own YAML parser.
const (
	maxNesting = 50
	maxAliases = 50
)
