package configuration

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineBreak matches the line breaks of YAML 1.1.
var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// tabLines returns the lines of content if it has a tab, and nil otherwise.
func tabLines(content []byte) (lines [][]rune) {
	if !bytes.ContainsRune(content, '\t') {
		return nil
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	for _, line := range lineBreak.Split(text, -1) {
		lines = append(lines, []rune(line))
	}
	return lines
}

// tabBefore reports whether there is a tab in the white space before a node. The
// exporter's YAML parser rejects that, but the YAML library does not.
func (c *checker) tabBefore(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(c.lines) {
		return false
	}
	line := c.lines[n.Line-1]
	for i := min(n.Column-1, len(line)) - 1; i >= 0; i-- {
		if line[i] != ' ' {
			return line[i] == '\t'
		}
	}
	return false
}
