package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzCut(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;x\a\u202e\xff\r\n", 10)
	f.Add("\x1b\x1b[0m[31m", 300)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit &= 0xfff
		for _, got := range []string{Cut(s, limit), Line(s, limit)} {
			if len(got) > max(limit, len("…")) || !utf8.ValidString(got) {
				t.Errorf("%q has %d bytes", got, len(got))
			}
			if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }) {
				t.Errorf("a terminal shows something else than %q", got)
			}
		}
	})
}
