package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a container says is shown on a terminal by kubectl.
func TestCut(t *testing.T) {
	for name, test := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"as it is":           {"é世😀", 20, "é世😀"},
		"colors":             {"\x1b[1;31mred\x1b[0m", 20, "red"},
		"a title":            {"\x1b]0;x\a", 20, "?]0;x?"},
		"control characters": {"a\x00b\x7fc\td\r\ne\rf\u009b", 20, "a?b?c d\ne?f?"},
		"written backwards":  {"\u202egnp\u2066.exe", 20, "?gnp?.exe"},
		"no UTF-8":           {"\xff\xfea", 20, "?a"},
		"long":               {"ééééé", 8, "éé…"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Cut(test.in, test.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{" first. \nsecond": "first", "a\r\nb": "a", "\x1b[31mred.\x1b[0m": "red"} {
		if got := Line(in, 20); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
