package configuration

import (
	"fmt"
	"strings"
)

// maxListed limits the keys that a warning lists; it counts the others.
const maxListed = 3

// Warnings lists what an accepted configuration has and the exporter ignores, as parts of
// a sentence. A field is empty if there is nothing of its kind.
type Warnings struct {
	// Unknown lists the lines of top-level keys that the exporter does not know.
	Unknown string
	// Ineffective lists the exporter's own keys that have no effect in an agent.
	Ineffective string
	// Repeated lists the lines of keys that their mapping has again, and of the last one,
	// which counts.
	Repeated string
}

func (c *checker) warnings() Warnings {
	var unknown, repeated []string
	for _, key := range c.unknown[:min(maxListed, len(c.unknown))] {
		name := fmt.Sprintf("line %d", key.Line)
		if suggestion := suggest(key, rootKeys); suggestion != "" {
			name += " (" + suggestion + ")"
		}
		unknown = append(unknown, name)
	}
	for _, keys := range c.repeated[:min(maxListed, len(c.repeated))] {
		repeated = append(repeated, fmt.Sprintf("line %d (again on line %d)", keys.first.Line, keys.last.Line))
	}
	return Warnings{
		Unknown:     listed(unknown, len(c.unknown)),
		Ineffective: strings.Join(c.ineffective, ", "),
		Repeated:    listed(repeated, len(c.repeated)),
	}
}

// listed joins the first of all names.
func listed(names []string, all int) string {
	if more := all - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
