package configuration

import (
	"errors"
	"strings"
)

// Values of an escape that is not one known character.
const (
	isClass   rune = -1 // a class or an assertion, such as \d or \b
	isUnknown rune = -2 // one character, which one is left to Java
)

// escape reads an escape after its backslash and returns its character.
func (s *scanner) escape(inClass bool) (rune, error) {
	unknown := errors.New("a backslash precedes a letter that has no meaning with it; a literal backslash is written \\\\")
	switch c := s.next(); c {
	case end:
		return 0, errors.New("the last backslash escapes nothing")
	case 'd', 'D', 'h', 'H', 's', 'S', 'V', 'w', 'W':
		return isClass, nil
	case 'v':
		// A character at the ends of a range, a class elsewhere.
		if inClass && s.peek() == '-' {
			return '\v', nil
		}
		return isUnknown, nil
	case 'p', 'P':
		return isClass, s.property()
	case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'G', 'R', 'X', 'Z', 'z':
		if inClass {
			return 0, unknown
		}
		return isClass, nil
	case 'b':
		if inClass {
			return 0, unknown
		}
		if s.peek() == '{' && s.at(s.pos+1) == 'g' {
			s.pos += 2
			if !s.accept('}') {
				return 0, unknown
			}
		}
		return isClass, nil
	case 'k':
		if inClass {
			return 0, unknown
		}
		return isClass, s.reference()
	case 'N':
		if !s.accept('{') || !s.skipPast('}') {
			return 0, errors.New("\\N is not followed by a character's name in braces")
		}
		return isUnknown, nil
	case '0', 'x', 'u', 'c':
		return s.code(c)
	case 'a', 'e', 'f', 'n', 'r', 't':
		return map[rune]rune{'a': 7, 'e': 27, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c], nil
	case literal:
		return isUnknown, nil
	default:
		if isLetter(c) {
			return 0, unknown
		}
		return c, nil
	}
}

// property reads the name of a Unicode property; which ones there are is
// left to Java.
func (s *scanner) property() error {
	if !s.accept('{') {
		if !isLetter(s.next()) {
			return errors.New("\\p is not followed by a property's letter, or its name in braces")
		}
		return nil
	}
	if s.peek() == '}' || !s.skipPast('}') {
		return errors.New("\\p is not followed by a property's name in braces")
	}
	return nil
}

func (s *scanner) reference() error {
	if !s.accept('<') {
		return errors.New("\\k is not followed by a group's name in <>")
	}
	name, err := s.groupName()
	if err != nil {
		return err
	}
	if !s.names[name] {
		return errors.New("\\k names a group that is not defined before it")
	}
	return nil
}

// code reads a character given by its number: \0n, \xhh, \x{h}, \uhhhh, \cx.
func (s *scanner) code(form rune) (rune, error) {
	switch {
	case form == 'c':
		if s.done() {
			return 0, errors.New("\\c is followed by nothing")
		}
		return s.next() ^ 64, nil
	case form == '0':
		if n, digits := s.digits(8, 1); digits == 1 {
			most := 1
			if n <= 3 {
				most = 2
			}
			rest, digits := s.digits(8, most)
			for range digits {
				n *= 8
			}
			return n + rest, nil
		}
		return 0, errors.New("\\0 is not followed by an octal number")
	case form == 'x' && s.accept('{'):
		n, digits := s.digits(16, len(s.in))
		if digits == 0 || n > 0x10FFFF || !s.accept('}') {
			return 0, errors.New("\\x{ is not followed by a character's hexadecimal number and }")
		}
		return n, nil
	case form == 'x':
		if n, digits := s.digits(16, 2); digits == 2 {
			return n, nil
		}
		return 0, errors.New("\\x is not followed by two hexadecimal digits")
	default:
		n, digits := s.digits(16, 4)
		if digits < 4 {
			return 0, errors.New("\\u is not followed by four hexadecimal digits")
		}
		if n >= 0xD800 && n < 0xE000 {
			return isUnknown, nil // half of a character, perhaps
		}
		return n, nil
	}
}

// digits reads at most limit digits; a number beyond Unicode stays beyond it.
func (s *scanner) digits(base rune, limit int) (value rune, count int) {
	for count < limit {
		d := rune(strings.IndexRune("0123456789abcdef", s.peek()|0x20))
		if isDigit(s.peek()) {
			d = s.peek() - '0'
		} else if !isLetter(s.peek()) {
			break
		}
		if d < 0 || d >= base {
			break
		}
		value = min(value*base+d, 0x110000)
		s.pos++
		count++
	}
	return value, count
}
