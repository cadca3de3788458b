package problem

import "testing"

func TestSameWords(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"counts differ":                       {"0/3 nodes are available: 3 Insufficient cpu", "1/4 nodes are available: 13 Insufficient cpu", true},
		"durations differ":                    {"timed out after 10s.", "timed out after 1m20.5s.", true},
		"words differ":                        {"Insufficient cpu", "Insufficient memory", false},
		"image tags differ":                   {"registry.example/app:1", "registry.example/app:2", false},
		"one has more words":                  {"a b", "a b c", false},
		"one has only numbers":                {"3", "", true},
		"container IDs differ":                {`is reserved for "0123456789abcdef"`, `is reserved for "fedcba9876543210"`, true},
		"digests differ":                      {"sha256:0123456789abcdef", "sha256:fedcba9876543210", false},
		"words that contain durations differ": {"x10s", "x11s", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameWords(tc.a, tc.b); got != tc.want {
				t.Errorf("sameWords(%q, %q): got %t, want %t", tc.a, tc.b, got, tc.want)
			}
		})
	}
}
