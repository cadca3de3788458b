package controller

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
)

// accidents are those of a way that did this, before and after each effect. Of an effect that
// is repeated, such as the apply of the status, the first ones are taken; FULL=1 adds the
// second and the third.
func accidents(did []string) []*effectstest.Accident {
	repeated := 1
	if os.Getenv("FULL") == "1" {
		repeated = 3
	}
	return slices.DeleteFunc(effectstest.Plan(did, effectstest.DiesBefore, effectstest.DiesAfter), func(a *effectstest.Accident) bool {
		return a.Nth > repeated && !(strings.Contains(a.Effect, "status") && a.Nth <= 8)
	})
}

// The operator ends before or after each of its effects on the way from nothing to a
// complete cluster, and goes on.
func TestCrashWhileSeeding(t *testing.T) {
	t.Parallel()
	recorded := newWorld(t, 2)
	recorded.completes(2)
	for _, a := range accidents(recorded.did) {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.accident = a
			w.completes(2)
			if !a.Happened() && a.Nth == 1 {
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
	failover := func(a *effectstest.Accident) []string {
		old := w.object.Status.Primary
		next := map[string]string{"db-0": "db-1", "db-1": "db-0"}[old]
		row := fmt.Sprintf("%03d", len(rows))
		w.sql(old, "INSERT INTO t VALUES ('"+row+"')")
		rows = append(rows, row)
		w.kubelet.kill(old, true)
		w.did, w.accident, w.names = nil, a, strings.NewReplacer(old, "the old one", next, "the new one")
		w.losesPrimary()
		w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary == next && s.Announced == nil })
		w.kubelet.release(old)
		w.completes(2)
		w.has(strings.Join(rows, ","))
		return w.did
	}
	for _, a := range accidents(failover(nil)) {
		failover(a)
		if !a.Happened() && a.Nth == 1 {
			t.Errorf("%s: it did not come about again", a)
		}
		if t.Failed() {
			t.Fatalf("the operator %s", a)
		}
	}
}

// The operator ends before or after each of its effects, statements included, while a standby
// leaves and comes back: one change of the size each, all of one cluster.
func TestCrashWhileResizing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	for _, size := range []int32{1, 2} {
		resize := func(a *effectstest.Accident) []string {
			w.resize(3 - size)
			w.completes(int(3 - size))
			w.reconcile() // slots are dropped by the next
			w.resize(size)
			w.did, w.accident = nil, a
			w.completes(int(size))
			did := w.did
			w.accident = nil
			return did
		}
		for _, a := range accidents(resize(nil)) {
			resize(a)
			if !a.Happened() && a.Nth == 1 {
				t.Errorf("%s: it did not come about again", a)
			}
			if w.has("a"); t.Failed() || w.object.Status.Primary != "db-0" {
				t.Fatalf("the operator %s; the primary is %s", a, w.object.Status.Primary)
			}
		}
	}
}

// A member that leaves is no voter in the record any more when its pod is deleted: an
// operator that starts then would make the pod again.
func TestMemberLeavesTheRecordFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.resize(1)
	w.accident = &effectstest.Accident{Kind: effectstest.DiesAfter, Effect: "delete Pod on db-1", Nth: 1}
	w.until("the deletion of db-1", func(*v1.PostgresClusterStatus) bool { return w.accident.Happened() })
	if voters := w.object.Status.Voters; !slices.Equal(voters, []string{"db-0"}) {
		t.Errorf("the operator ended, and the record has the voters %v", voters)
	}
	w.completes(1)
}
