package helperapi

import (
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// maxBounded is the maximum length of a text from a JVM, in bytes.
const maxBounded = 1024

// Bounded makes a text from a JVM safe for a status and a terminal: any code in the JVM
// can set the property that it is from.
func Bounded(text string) string {
	text = strings.Map(func(r rune) rune {
		if terminal.Obeys(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxBounded {
		text = strings.ToValidUTF8(text[:maxBounded], "")
	}
	return text
}
