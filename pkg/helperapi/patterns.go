package helperapi

import (
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

const (
	// MaxPattern is the maximum length of a pattern, in characters, as in the schema of the
	// API.
	MaxPattern = 256
	// MaxInstructions is the maximum number of instructions of all patterns of a request.
	// Compiling them takes memory in proportion to it, and matching them takes time.
	MaxInstructions = 4096
)

// Patterns counts what the patterns of one request cost, before any of them is compiled: a
// counted repetition multiplies what it repeats, so that (.?){999} compiles to 4000
// instructions.
type Patterns struct{ instructions int }

// Add parses a pattern (RE2) and adds its cost. Its error is a problem of the pattern, or of
// all of them together.
func (p *Patterns) Add(pattern string) (*syntax.Regexp, error) {
	if n := utf8.RuneCountInString(pattern); n > MaxPattern {
		return nil, fmt.Errorf("the pattern has %d characters, more than %d; shorten it", n, MaxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if _, err := syntax.Parse(Anchored(pattern), syntax.Perl); err != nil { // an open \Q, for example
		return nil, err
	}
	if p.instructions += instructions(parsed); p.instructions > MaxInstructions {
		return nil, fmt.Errorf("the patterns up to this one compile to more than %d instructions, because a counted repetition, such as {99}, multiplies what it repeats; use * or + instead, or fewer patterns", MaxInstructions)
	}
	return parsed, nil
}

// Anchored returns the expression by which a pattern must match a whole text, with a dot that
// matches newlines, as in Prometheus.
func Anchored(pattern string) string { return `\A(?s:` + pattern + `)\z` }

// runesPerInstruction is how many ends of ranges take the memory of an instruction.
const runesPerInstruction = 16

// instructions returns an upper bound of the number of instructions that an expression
// compiles to (regexp/syntax/compile.go), without expanding its repetitions: package syntax
// does that in Simplify, and allows 1000 copies of each. A class of characters counts by its
// ranges, too: \pL has 650, which take as much memory as 80 instructions.
func instructions(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += 1 + instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / runesPerInstruction
	case syntax.OpRepeat:
		n *= max(1, re.Min, re.Max)
	default: // nothing but its parts
	}
	return n
}
