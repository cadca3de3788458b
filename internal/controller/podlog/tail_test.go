package podlog

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTail(t *testing.T) {
	cases := map[string]struct{ log, want string }{
		"the log is empty":                   {"", ""},
		"the log has empty lines at the end": {"one\ntwo\n\n", "one\ntwo"},
		"the log has Windows line ends":      {"one\r\ntwo\r\n", "one\ntwo"},
		"the log has a stack trace":          {"java.lang.Error\n\tat Main", "java.lang.Error\n at Main"},
		"the log has colors":                 {"\x1b[1;31mERROR\x1b[0m no", "ERROR no"},
		"the log has control characters":     {"a\x00b\x07c\u202ed\u0085e", "a?b?c?d?e"},
		"the log is not UTF-8":               {"a\xff\xfeb", "a?b"},
		"the log has the maximum length":     {strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"the log is one byte too long":       {"abcd" + strings.Repeat("x", 4093), "…" + strings.Repeat("x", 4093)},
		"the cut is inside a character":      {strings.Repeat("€", 2000), "…" + strings.Repeat("€", 1364)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tail(tc.log)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if len(got) > maxLog || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
			}
		})
	}
}

// What is kept of a log does not keep all that was read of it in memory.
func TestTailKeepsLittleMemory(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	for name, log := range map[string]string{
		"the log has no text":    "\n",
		"the log ends in spaces": "x" + strings.Repeat(" ", 99),
		"the log is long":        "line\n",
	} {
		t.Run(name, func(t *testing.T) {
			kept := make([]string, 20)
			before := heap()
			for i := range kept {
				kept[i] = tail(strings.Repeat(log, maxRead/len(log)))
			}
			after, most := heap(), uint64(len(kept)*maxRead/10)
			if after > before+most {
				t.Errorf("%d logs of %d bytes keep %d bytes, want at most %d", len(kept), maxRead, after-before, most)
			}
			runtime.KeepAlive(kept)
		})
	}
}
