// Package configuration validates a stock exporter's configuration before any pod is
// touched: its YAML, its keys, the types of their values, and object names. Errors have
// line numbers.
//
// Java's regular expressions are validated by the agent in the canary's JVM, which answers
// ConfigRejected. Otherwise, this package accepts what the collector accepts, with a
// warning where the exporter ignores what is written. It is stricter only where the
// collector silently ignores a mistake or fails at the first scrape: unknown keys that are
// not top-level ones, a label without a value, an unknown type; and where a configuration
// becomes too large. The two YAML parsers rarely differ in what people write: here,
// "{a:{b: c}}" needs a space after the first colon.
package configuration

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Validate returns an *Error unless the exporter accepts the configuration. The warnings
// are about an accepted one.
func Validate(content []byte) (Warnings, error) {
	if len(content) > MaxSize {
		return Warnings{}, tooLarge(0, "the configuration has %d bytes; at most %d are accepted, since it is copied into every pod", len(content), MaxSize)
	}
	document, err := read(content)
	if err != nil || document == nil {
		return Warnings{}, err
	}
	c := &checker{lines: tabLines(content), sizes: map[*yaml.Node]int{}, flat: map[*yaml.Node][]entry{}}
	if err := c.tree(document, 0); err != nil {
		return Warnings{}, err
	}
	if kindOf(document) == kindNull { // the exporter's defaults
		return Warnings{}, nil
	}
	if err := root(c, "", document); err != nil {
		return Warnings{}, err
	}
	return c.warnings(), nil
}

// read returns the root node of the only document, or nil if there is no document.
func read(content []byte) (*yaml.Node, error) {
	for i, line := range bytes.SplitAfter(content, []byte("\n")) {
		switch {
		case !utf8.Valid(line):
			return nil, &Error{Reason: ConfigNotYAML, Line: i + 1, Message: "the configuration is not encoded in UTF-8"}
		case bytes.ContainsFunc(line, isControl):
			return nil, &Error{Reason: ConfigNotYAML, Line: i + 1, Message: "the configuration has a control character"}
		}
	}
	// The exporter reads YAML 1.2 as 1.1, and the library supports only 1.1.
	if after, found := bytes.CutPrefix(content, []byte("%YAML 1.2")); found {
		content = append([]byte("%YAML 1.1"), after...)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(content, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, &Error{Reason: ConfigNotYAML, Line: second.Line, Message: "a second YAML document begins here; a configuration has only one"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(content, err)
	}
	return first.Content[0], nil
}

// isControl reports whether YAML does not allow a character.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7F && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF
}

var (
	syntaxErrorForm = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor   = regexp.MustCompile(`(?s)^unknown anchor '(.*)' referenced$`)
	// parserError matches an error of the library's parser, which counts lines from 0.
	parserError = regexp.MustCompile(`^(?:did not find expected|found undefined tag handle)`)
)

// syntaxError converts an error of the YAML library into an *Error.
func syntaxError(content []byte, err error) *Error {
	e := &Error{Reason: ConfigNotYAML, Line: 1, Message: "the configuration is not YAML"}
	match := syntaxErrorForm.FindStringSubmatch(err.Error())
	if match == nil {
		return e
	}
	problem := match[2]
	// An error without a line is about the first one.
	if line, err := strconv.Atoi(match[1]); err == nil {
		e.Line = line
		if parserError.MatchString(problem) {
			e.Line++
		}
	}
	if anchor := unknownAnchor.FindStringSubmatch(problem); anchor != nil {
		// The message does not repeat the name: it may be a password that begins with *.
		problem = "an alias names an anchor that is not defined before it"
		before, _, _ := bytes.Cut(content, []byte("*"+anchor[1]))
		e.Line = 1 + bytes.Count(before, []byte("\n"))
	}
	e.Message = clip(e.Message + ": " + problem)
	return e
}
