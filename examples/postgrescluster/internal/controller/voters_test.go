package controller

import (
	"fmt"
	"slices"
	"testing"
)

// For each number of standbys and each set of disconnected ones that suffices: the others
// cannot acknowledge a commit, and each acknowledged one is on a disconnected standby.
func TestCanFailOver(t *testing.T) {
	t.Parallel()
	for n := range 7 {
		var standbys []string
		for i := range n {
			standbys = append(standbys, memberName("db", i+1))
		}
		voters := append([]string{"db-0"}, standbys...)
		subsets := func(yield func([]string) bool) {
			for bits := range 1 << n {
				var subset []string
				for i, name := range standbys {
					if bits&(1<<i) != 0 {
						subset = append(subset, name)
					}
				}
				if !yield(subset) {
					return
				}
			}
		}
		possible := false
		for heard := range subsets {
			if !canFailOver(voters, "db-0", heard) {
				continue
			}
			possible = true
			if left := n - len(heard); left >= acknowledging(n) {
				t.Errorf("of %d standbys %v are heard, and the %d others still acknowledge commits", n, heard, left)
			}
			for acknowledged := range subsets {
				if len(acknowledged) >= acknowledging(n) && !slices.ContainsFunc(acknowledged, func(name string) bool { return slices.Contains(heard, name) }) {
					t.Errorf("of %d standbys %v are heard, and %v may have acknowledged", n, heard, acknowledged)
				}
			}
		}
		if possible != (n > 0) {
			t.Errorf("of %d standbys one can take the place of the primary: %t", n, possible)
		}
	}
}

func TestMembersOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size    int
		primary string
		voters  []string
		want    string
	}{
		{3, "", nil, "[db-0 db-1 db-2]"},
		{1, "db-2", []string{"db-0", "db-1", "db-2"}, "[db-2]"},
		{2, "db-2", []string{"db-0", "db-1", "db-2"}, "[db-0 db-2]"},
		{3, "db-2", []string{"db-0", "db-2"}, "[db-0 db-1 db-2]"},
		{2, "db-4", []string{"db-3", "db-4"}, "[db-3 db-4]"},
	} {
		if got := fmt.Sprint(membersOf("db", test.size, test.primary, test.voters)); got != test.want {
			t.Errorf("of %d, with the primary %q and %v: %s, want %s", test.size, test.primary, test.voters, got, test.want)
		}
	}
}

func TestSynchronousStandbyNames(t *testing.T) {
	t.Parallel()
	for want, voters := range map[string][]string{
		"":                         {"db-0"},
		`ANY 1 ("db-1")`:           {"db-0", "db-1"},
		`ANY 1 ("db-1", "db-2")`:   {"db-2", "db-0", "db-1"},
		`ANY 2 ("a", "b", "db-1")`: {"db-0", "db-1", "b", "a"},
	} {
		if got := synchronousStandbyNames(voters, "db-0"); got != want {
			t.Errorf("of %v: %s, want %s", voters, got, want)
		}
	}
}
