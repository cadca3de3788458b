package configuration

import "errors"

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
