package controller

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// An accident ends the operator before or after the n-th of its effects of a name.
type accident struct {
	what   string
	nth    int
	after  bool
	struck bool
}

var errEnded = errors.New("the operator has ended, as the test wants it")

// strike performs an effect, unless the accident keeps it from that; it returns whether
// the operator goes on.
func (a *accident) strike(what string, do func() error) (goesOn bool, err error) {
	if a == nil || a.struck || a.what != what {
		return true, do()
	}
	if a.nth--; a.nth > 0 {
		return true, do()
	}
	a.struck = true
	if a.after {
		_ = do()
	}
	return false, errEnded
}

func (a *accident) String() string {
	return fmt.Sprintf("%s the effect %q", map[bool]string{false: "before", true: "after"}[a.after], a.what)
}

// accidents are those of a story that did this. Of an effect that is repeated, such as the
// apply of the status, the first ones are taken. Those after an effect, of which the record
// does not know yet, are always among them; FULL=1 adds those before, and of effects that
// are repeated the second and the third.
func accidents(did []string) []*accident {
	full := os.Getenv("FULL") == "1"
	var all []*accident
	count := map[string]int{}
	for _, what := range did {
		if count[what]++; count[what] > 1 && !(full && count[what] <= 3) && !(strings.Contains(what, "status") && count[what] <= 8) {
			continue
		}
		for _, after := range []bool{false, true} {
			if !after && !full {
				continue
			}
			all = append(all, &accident{what: what, nth: count[what], after: after})
		}
	}
	return all
}

// The operator ends before or after each of its effects on the way from nothing to a
// complete cluster, and goes on.
func TestCrashWhileSeeding(t *testing.T) {
	t.Parallel()
	recorded := newWorld(t, 2)
	recorded.completes(2)
	for _, a := range accidents(recorded.did) {
		t.Run(fmt.Sprint(a, a.nth), func(t *testing.T) {
			t.Parallel()
			first := a.nth == 1
			w := newWorld(t, 2)
			w.accident = a
			w.completes(2)
			if !a.struck && first {
				t.Error("the effect did not come about again")
			}
			if identifiers, err := w.ask("db-1", "SELECT system_identifier FROM pg_control_system()"); err != nil || identifiers != w.object.Status.SystemIdentifier {
				t.Errorf("the standby's system identifier is %s (%v), not %s", identifiers, err, w.object.Status.SystemIdentifier)
			}
		})
	}
}

// The operator ends before or after each of its effects, statements included, while a
// standby takes the place of the primary and the old one joins it: one failover each, all
// of one cluster. Each commit that was acknowledged is there in the end.
func TestCrashWhileFailingOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	var rows []string
	failover := func(a *accident) []string {
		old := w.object.Status.Primary
		next := map[string]string{"db-0": "db-1", "db-1": "db-0"}[old]
		row := fmt.Sprintf("%03d", len(rows))
		w.sql(old, "INSERT INTO t VALUES ('"+row+"')")
		rows = append(rows, row)
		w.kubelet.kill(old, true)
		w.did, w.accident, w.names = nil, a, strings.NewReplacer(old, "the old one", next, "the new one")
		w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary == next && s.Announced == nil })
		w.kubelet.release(old)
		w.completes(2)
		w.has(strings.Join(rows, ","))
		return w.did
	}
	for _, a := range accidents(failover(nil)) {
		first := a.nth == 1
		failover(a)
		if !a.struck && first {
			t.Errorf("%s: it did not come about again", a)
		}
		if t.Failed() {
			t.Fatalf("the operator ended %s", a)
		}
	}
}
