package configuration

import "errors"

// end is what peek and next return after the last character.
const end rune = -1

// scanner reads a pattern once, by recursive descent.
type scanner struct {
	in    []rune
	pos   int
	depth int
	names map[string]bool
}

// maxDepth bounds the recursion; Java's own stack ends long before it.
const maxDepth = 10_000

func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return errors.New("groups or classes are nested too deep")
	}
	return nil
}

func (s *scanner) done() bool { return s.pos >= len(s.in) }

func (s *scanner) at(i int) rune {
	if i < 0 || i >= len(s.in) {
		return end
	}
	return s.in[i]
}

func (s *scanner) peek() rune { return s.at(s.pos) }

func (s *scanner) next() rune {
	c := s.peek()
	s.pos++
	return c
}

func (s *scanner) accept(c rune) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) skipPast(c rune) bool {
	for !s.done() {
		if s.next() == c {
			return true
		}
	}
	return false
}

func isDigit(c rune) bool  { return c >= '0' && c <= '9' }
func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
