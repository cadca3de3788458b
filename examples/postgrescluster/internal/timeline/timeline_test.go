package timeline

import (
	"fmt"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const file = "# a comment\n1\t0/3000148\tno recovery target specified\n\n3\t1/20\tafter LSN 1/20\n"
	if got := fmt.Sprint(Parse(file)); got != "[{1 0/3000148} {3 1/20}]" {
		t.Errorf("the ancestors are %s", got)
	}
}

// The primary is on timeline 4, up to 0/900; it began timeline 2 at 0/100 and 4 at 0/500.
func TestDiverged(t *testing.T) {
	t.Parallel()
	primary := History{Timeline: 4, LSN: 0x900, Ancestors: []Switch{{1, 0x100}, {2, 0x500}}}
	for name, test := range map[string]struct {
		log               History
		foreign, diverged bool
	}{
		"the same timeline":                  {log: History{4, primary.Ancestors, 0x800}},
		"the same timeline, and more WAL":    {log: History{4, primary.Ancestors, 0x901}, diverged: true},
		"an ancestor":                        {log: History{2, primary.Ancestors[:1], 0x500}},
		"an ancestor, beyond its end":        {log: History{2, primary.Ancestors[:1], 0x501}, diverged: true},
		"the first one":                      {log: History{1, nil, 0x80}},
		"one of the same number":             {log: History{2, []Switch{{1, 0x120}}, 0x400}, foreign: true, diverged: true},
		"the last one, begun elsewhere":      {log: History{4, []Switch{{1, 0x100}, {2, 0x480}}, 0x500}, foreign: true, diverged: true},
		"the last one, of another ancestor":  {log: History{4, []Switch{{1, 0x100}}, 0x500}, foreign: true, diverged: true},
		"one that the primary did not go by": {log: History{3, []Switch{{1, 0x100}, {2, 0x300}}, 0x400}, foreign: true, diverged: true},
		"a later one":                        {log: History{5, append(primary.Ancestors, Switch{4, 0x600}), 0x700}, foreign: true, diverged: true},
	} {
		if got := test.log.Foreign(primary); (got != "") != test.foreign {
			t.Errorf("%s is foreign: %q, want %t", name, got, test.foreign)
		}
		if got := test.log.Diverged(primary); (got != "") != test.diverged {
			t.Errorf("%s diverged: %q, want %t", name, got, test.diverged)
		}
	}
}
