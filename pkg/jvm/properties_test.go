//go:build linux

package jvm

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProperties(t *testing.T) {
	const text = `#Sat Nov 21 08:50:00 UTC 2026
! also a comment
plain=value
path.separator=\:
line.separator=\n
empty=
nothing
spaced   :   value with end  
key\ with\=all\:of\ it=\ leading and \\ back
unicode=\u00E9\u4e16\ud83d\ude00
control=\t\r\f\u0007
unknown=\q\'
bad=\u12xy
cut=\u12
long=one, \
    two, \
    three
backslashes=even\\
last=1`
	want := map[string]string{
		"plain": "value", "path.separator": ":", "line.separator": "\n", "empty": "", "nothing": "",
		"spaced": "value with end  ", "key with=all:of it": " leading and \\ back",
		"unicode": "é世😀", "control": "\t\r\f\a", "unknown": "q'", "bad": "u12xy", "cut": "u12",
		"long": "one, two, three", "backslashes": "even\\", "last": "1",
	}
	for name, ending := range map[string]string{"lf": "\n", "cr": "\r", "crlf": "\r\n"} {
		if diff := cmp.Diff(want, maps.Collect(properties(strings.ReplaceAll(text, "\n", ending)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, edge := range []string{"", "\n\n", "#only", `open\`, "=", `\`} {
		_, _ = findProperty(edge, "") // ends
	}
}
