package configuration

import (
	"errors"
	"math"
	"strings"
)

// checkPattern returns what is certainly wrong with a rule's pattern. It reads
// the syntax of java.util.regex, which is not Go's: lookarounds, possessive
// quantifiers, unions and intersections of classes. What differs between Java's
// releases passes, and so does what takes Unicode's tables or the length of a
// lookbehind to judge: a pattern that Java accepts is never refused.
func checkPattern(pattern string) error {
	// The collector compiles it in this frame, where even "a)|(b" is complete.
	s := &scanner{in: unquote("^.*(?:" + pattern + ").*$"), names: map[string]bool{}}
	err := s.alternatives()
	if err == nil && !s.done() {
		err = errors.New("a closing parenthesis has no opening one")
	}
	if errors.Is(err, errComments) {
		return nil
	}
	return err
}

// errComments ends the scan of a pattern with the flag x: it may hold anything
// in its comments.
var errComments = errors.New("comments")

// end is what peek and next return after the last character.
const end rune = -1

// Values of an escape that is not one known character.
const (
	isClass   rune = -1 // a class or an assertion, such as \d or \b
	isUnknown rune = -2 // one character, which one is left to Java
)

// literal stands for a quoted character that would have a meaning otherwise.
const literal = '\uE000'

// unquote resolves \Q...\E, as Java does before it looks at anything else.
func unquote(pattern string) []rune {
	in := []rune(pattern)
	out := make([]rune, 0, len(in))
	quoted := false
	for i := 0; i < len(in); i++ {
		c, escaped := in[i], end
		if c == '\\' && i+1 < len(in) {
			escaped = in[i+1]
		}
		switch {
		case quoted && escaped == 'E':
			quoted = false
			i++
		case quoted && (isLetter(c) || c > 0x7F):
			out = append(out, c)
		case quoted:
			out = append(out, literal)
		case escaped == 'Q':
			quoted = true
			i++
		case escaped != end:
			out = append(out, c, escaped)
			i++
		default:
			out = append(out, c)
		}
	}
	return out
}

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
