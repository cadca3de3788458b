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

// full reports whether FULL=1 has everything run, also what takes too long for every change.
func full() bool { return os.Getenv("FULL") == "1" }

// accidents are those that happen on one way each, of a way that did this: before and after each
// effect, all of them on one way. With FULL=1 each has a way of its own, and an effect that is
// repeated, such as the apply of the status, has them at the first ones.
func accidents(did []string) [][]*effectstest.Accident {
	plan := effectstest.Plan(did, effectstest.DiesBefore, effectstest.DiesAfter)
	if !full() {
		return [][]*effectstest.Accident{slices.DeleteFunc(plan, func(a *effectstest.Accident) bool { return a.Nth > 1 })}
	}
	return slices.Collect(slices.Chunk(slices.DeleteFunc(plan, func(a *effectstest.Accident) bool {
		return a.Nth > 3 && !(strings.Contains(a.Effect, "status") && a.Nth <= 8)
	}), 1))
}

// happened asserts that the operator crashed where it was to.
func happened(t *testing.T, accidents []*effectstest.Accident) {
	t.Helper()
	for _, a := range accidents {
		if !a.Happened() && a.Nth == 1 {
			t.Errorf("the operator did not crash as it %s: the effect did not come about again", a)
		}
	}
}

// crashes goes a way once for what the operator does on it, and once for each of the accidents that
// may happen; the way returns the effects, and asserts what is to be so at its end.
func crashes(t *testing.T, way func([]*effectstest.Accident) []string) {
	t.Helper()
	for _, as := range accidents(way(nil)) {
		way(as)
		if happened(t, as); t.Failed() {
			t.Fatalf("the operator %s", nameOf(as))
		}
	}
}

// nameOf returns the name of accidents on one way.
func nameOf(accidents []*effectstest.Accident) string {
	if len(accidents) == 1 {
		return accidents[0].String()
	}
	return "dies at each effect"
}

// The operator ends before or after each of its effects on the way from nothing to a
// complete cluster, and goes on.
func TestCrashWhileSeeding(t *testing.T) {
	t.Parallel()
	recorded := newWorld(t, 2)
	recorded.completes(2)
	for _, as := range accidents(recorded.did) {
		t.Run(nameOf(as), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.accidents = as
			w.completes(2)
			happened(t, as)
			if identifiers, err := w.ask("db-1", "SELECT system_identifier FROM pg_control_system()"); err != nil || identifiers != w.object.Status.SystemIdentifier {
				t.Errorf("the standby's system identifier is %s (%v), not %s", identifiers, err, w.object.Status.SystemIdentifier)
			}
		})
	}
}

// The operator ends before or after each of its effects, statements included, while a
// standby takes the place of the primary and the old one joins it: one failover for each way, all
// of one cluster. Each commit that was acknowledged is there in the end.
func TestCrashWhileFailingOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	var rows []string
	failover := func(as []*effectstest.Accident) []string {
		old := w.object.Status.Primary
		next := map[string]string{"db-0": "db-1", "db-1": "db-0"}[old]
		row := fmt.Sprintf("%03d", len(rows))
		w.sql(old, "INSERT INTO t VALUES ('"+row+"')")
		rows = append(rows, row)
		w.kubelet.kill(old, true)
		w.did, w.accidents, w.names = nil, as, strings.NewReplacer(old, "the old one", next, "the new one")
		w.losesPrimary()
		w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary == next && s.Announced == nil })
		w.kubelet.release(old)
		w.completes(2)
		w.has(strings.Join(rows, ","))
		return w.did
	}
	crashes(t, failover)
}

// The operator ends before or after each of its effects, statements included, while a standby
// leaves and comes back: one change of the size for each way, all of one cluster.
func TestCrashWhileResizing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	for _, size := range []int32{1, 2} {
		resize := func(as []*effectstest.Accident) []string {
			w.resize(3 - size)
			w.completes(int(3 - size))
			w.reconcile() // slots are dropped by the next
			w.resize(size)
			w.did, w.accidents = nil, as
			w.completes(int(size))
			did := w.did
			w.accidents = nil
			if w.has("a"); w.object.Status.Primary != "db-0" {
				t.Errorf("the primary is %s", w.object.Status.Primary)
			}
			return did
		}
		crashes(t, resize)
	}
}

// A member that leaves is no voter in the record any more when its pod is deleted: an
// operator that starts then would make the pod again.
func TestMemberLeavesTheRecordFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.resize(1)
	crash := &effectstest.Accident{Kind: effectstest.DiesAfter, Effect: "delete Pod on db-1", Nth: 1}
	w.accidents = []*effectstest.Accident{crash}
	w.until("the deletion of db-1", func(*v1.PostgresClusterStatus) bool { return crash.Happened() })
	if voters := w.object.Status.Voters; !slices.Equal(voters, []string{"db-0"}) {
		t.Errorf("the operator ended, and the record has the voters %v", voters)
	}
	w.completes(1)
}
