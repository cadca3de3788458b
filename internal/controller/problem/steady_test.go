package problem

import "testing"

func TestSameWords(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"counts":        {"0/3 nodes are available: 3 Insufficient cpu", "1/4 nodes are available: 13 Insufficient cpu", true},
		"durations":     {"timed out after 10s.", "timed out after 1m20.5s.", true},
		"words":         {"Insufficient cpu", "Insufficient memory", false},
		"image's tags":  {"registry.example/app:1", "registry.example/app:2", false},
		"more of them":  {"a b", "a b c", false},
		"only numbers":  {"3", "", true},
		"IDs":           {`is reserved for "0123456789abcdef"`, `is reserved for "fedcba9876543210"`, true},
		"digests":       {"sha256:0123456789abcdef", "sha256:fedcba9876543210", false},
		"not durations": {"x10s", "x11s", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameWords(tc.a, tc.b); got != tc.want {
				t.Errorf("%q and %q: %t", tc.a, tc.b, got)
			}
		})
	}
}
