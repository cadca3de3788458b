package configuration

import (
	"errors"
	"strings"
)

// alternatives reads up to the end or to the parenthesis that closes the group.
func (s *scanner) alternatives() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	for !s.done() && s.peek() != ')' {
		if s.accept('|') {
			continue
		}
		quantifiable, err := s.atom()
		if err != nil {
			return err
		}
		if quantifiable {
			if err := s.quantifier(); err != nil {
				return err
			}
		}
	}
	return nil
}

// atom reads what a quantifier may follow, or an inline flag, which none may.
func (s *scanner) atom() (quantifiable bool, err error) {
	switch s.peek() {
	case '(':
		return s.group()
	case '[':
		s.pos++
		return true, s.class(true)
	case '\\':
		s.pos++
		_, err := s.escape(false)
		return true, err
	case '?', '*', '+':
		return false, errors.New("a quantifier has nothing to repeat")
	case '{':
		// Java lets a counted quantifier repeat the empty string.
		return true, nil
	}
	s.pos++
	return true, nil
}

func (s *scanner) group() (quantifiable bool, err error) {
	s.pos++
	if s.accept('?') {
		switch c := s.next(); c {
		case ':', '=', '!', '>':
		case '<':
			if c := s.peek(); c == '=' || c == '!' {
				s.pos++
				break
			}
			name, err := s.groupName()
			if err != nil {
				return false, err
			}
			if s.names[name] {
				return false, errors.New("two groups have the same name")
			}
			s.names[name] = true
		default:
			s.pos--
			if c := s.flags(); c == 'x' {
				return false, errComments
			}
			if s.accept(')') {
				return false, nil
			}
			if !s.accept(':') {
				return false, errors.New("a group begins with (? and an unknown character")
			}
		}
	}
	if err := s.alternatives(); err != nil {
		return false, err
	}
	if !s.accept(')') {
		return false, errors.New("a group is not closed")
	}
	return true, nil
}

// flags skips inline flags, and returns 'x' if that one is switched on.
func (s *scanner) flags() (x rune) {
	const known = "imsducxU"
	for strings.ContainsRune(known, s.peek()) {
		if s.next() == 'x' {
			x = 'x'
		}
	}
	if s.accept('-') {
		for strings.ContainsRune(known, s.peek()) {
			s.pos++
		}
	}
	return x
}

func (s *scanner) groupName() (string, error) {
	start := s.pos
	if !isLetter(s.peek()) {
		return "", errors.New("a group's name does not begin with a letter from a to z")
	}
	for isLetter(s.peek()) || isDigit(s.peek()) {
		s.pos++
	}
	name := string(s.in[start:s.pos])
	if !s.accept('>') {
		return "", errors.New("a group's name is not closed by >")
	}
	return name, nil
}
