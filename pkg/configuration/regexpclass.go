package configuration

import "errors"

// class reads a character class after its opening bracket. The right side of
// an intersection is a class without brackets of its own.
func (s *scanner) class(brackets bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if brackets {
		s.accept('^')
	}
	for empty := true; ; empty = false {
		switch c := s.peek(); {
		case c == end:
			return errors.New("a character class is not closed")
		case c == ']' && !empty:
			if brackets {
				s.pos++
			}
			return nil
		case c == '[':
			s.pos++
			if err := s.class(true); err != nil {
				return err
			}
		case c == '&' && s.at(s.pos+1) == '&':
			s.pos += 2
			right, err := s.intersection()
			if err != nil {
				return err
			}
			if empty && !right {
				return errors.New("a character class intersects nothing with nothing")
			}
		default:
			if err := s.span(); err != nil {
				return err
			}
		}
	}
}

// intersection reads what follows &&, up to the next & or the closing bracket.
func (s *scanner) intersection() (found bool, err error) {
	for s.peek() != ']' && s.peek() != '&' {
		brackets := s.accept('[')
		if err := s.class(brackets); err != nil {
			return false, err
		}
		found = true
	}
	return found, nil
}

// span reads one character of a class, or a range of them.
func (s *scanner) span() error {
	from, err := s.classCharacter()
	if err != nil || from == isClass || s.peek() != '-' {
		return err
	}
	if c := s.at(s.pos + 1); c == '[' || c == ']' {
		return nil
	}
	s.pos++
	to, err := s.classCharacter()
	if err != nil {
		return err
	}
	if to == isClass || from >= 0 && to >= 0 && to < from {
		return errors.New("a range in a character class ends before it begins")
	}
	return nil
}

func (s *scanner) classCharacter() (rune, error) {
	switch c := s.next(); c {
	case end:
		return 0, errors.New("a character class is not closed")
	case '\\':
		return s.escape(true)
	case literal:
		return isUnknown, nil
	default:
		return c, nil
	}
}
