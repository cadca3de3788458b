package transport

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// However it ends, a transient session removes the helper and its directory, and nothing
// that is not its own.
func TestTransient(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	cut := func(after int64) func(*sandbox) { return func(s *sandbox) { s.cut = after } }
	failing := NewBlob("jmx-attach-", []byte("#!/bin/sh\nexit 1\n"+strings.Repeat("#", 1<<18)+"\n"), "")
	for name, tc := range map[string]struct {
		helper Blob
		given  []func(*sandbox)
		want   int
		left   []string
	}{
		"missing":                {helper: helper},
		"no Java":                {helper: helper, given: []func(*sandbox){(*sandbox).withoutJava}, want: exitNoJava},
		"there from before":      {helper: helper, given: []func(*sandbox){func(s *sandbox) { s.write(s.home(helper.Name), answering, 0o755) }}},
		"beside another":         {helper: helper, given: []func(*sandbox){func(s *sandbox) { s.write(s.home("jmx-attach-old"), "", 0o755) }}, left: []string{"jmx-attach-old"}},
		"cut":                    {helper: helper, given: []func(*sandbox){cut(1 << 17)}, want: exitCut},
		"cut before the content": {helper: helper, given: []func(*sandbox){cut(17)}, want: exitCut},
		"the helper fails":       {helper: failing, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.transient = true
			for _, given := range tc.given {
				given(s)
			}
			if code := s.talk(tc.helper); code != tc.want {
				t.Errorf("it ended with %d, not with %d", code, tc.want)
			}
			var left []string
			entries, err := os.ReadDir(s.home(""))
			for _, entry := range entries {
				left = append(left, entry.Name())
			}
			if fmt.Sprint(left) != fmt.Sprint(tc.left) || (err == nil) != (tc.left != nil) {
				t.Errorf("left behind: %v, %v; want %v", left, err, tc.left)
			}
			if n := s.unread.Load(); n > 0 && tc.want != 1 {
				t.Error("it left standard input unread")
			}
		})
	}
}
