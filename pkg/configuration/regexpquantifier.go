package configuration

import (
	"errors"
	"math"
)

func (s *scanner) quantifier() error {
	switch s.peek() {
	case '?', '*', '+':
		s.pos++
	case '{':
		s.pos++
		if err := s.counts(); err != nil {
			return err
		}
	default:
		return nil
	}
	if c := s.peek(); c == '?' || c == '+' {
		s.pos++
	}
	return nil
}

// counts reads {n}, {n,} or {n,m} after the brace.
func (s *scanner) counts() error {
	if !isDigit(s.peek()) {
		return errors.New("a brace begins no repetition such as {2} or {2,3}; a literal one is written \\{")
	}
	least := s.number()
	most := least
	if s.accept(',') {
		if s.accept('}') {
			return nil
		}
		most = s.number()
	}
	if !s.accept('}') {
		return errors.New("a repetition such as {2,3} is not closed")
	}
	if most < least {
		return errors.New("a repetition's upper bound is below its lower one")
	}
	return nil
}

// number saturates: what is too large is left to Java, whose releases differ.
func (s *scanner) number() int {
	n := 0
	for isDigit(s.peek()) {
		if d := int(s.next() - '0'); n < math.MaxInt32 {
			n = n*10 + d
		}
	}
	return min(n, math.MaxInt32)
}
