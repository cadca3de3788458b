// Package terminal has a terminal show what is there: what comes from a container, a user or
// the API server may hold characters that color, erase, overwrite or turn what is shown.
package terminal

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Obeys reports whether a terminal obeys r instead of showing it: control characters, the
// ends of lines among them, and those that turn the direction of writing.
func Obeys(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Line returns s as one line, with a ? for each character that a terminal obeys, and for
// what is not UTF-8.
func Line(s string) string { return shown(s, "") }

// Writer returns a Writer to w of whole lines, such as a log's entries: tabs and ends of
// lines stay, the rest is as in Line.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, shown(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

func shown(s, stay string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || Obeys(r) && !strings.ContainsRune(stay, r) {
			return '?'
		}
		return r
	}, s)
}
