package exporter

import (
	"fmt"
	"strings"
)

// firstFew lists the first few items, and says how many more there are.
func firstFew(items []string) string {
	const few = 3
	if len(items) <= few {
		return strings.Join(items, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(items[:few], "; "), len(items)-few)
}
