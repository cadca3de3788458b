package problem

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLog is what the schema takes of a log, in bytes, which are never fewer than
// its characters.
const maxLog = 4096

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// clean is s as valid UTF-8, without colors and without characters that would
// make a terminal show something else than what is there. Lines stay.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return '?'
		}
		return r
	}, s)
}

// tail is the end of a log, as much of it as the status may hold.
func tail(log string) string {
	log = strings.TrimRight(clean(log), "\n ")
	if len(log) <= maxLog {
		return log
	}
	const ellipsis = "…"
	log = log[len(log)-(maxLog-len(ellipsis)):]
	for !utf8.RuneStart(log[0]) {
		log = log[1:]
	}
	return ellipsis + log
}
