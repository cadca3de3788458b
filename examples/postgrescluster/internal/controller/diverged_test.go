package controller

import (
	"sync"
	"testing"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// A member that somebody promoted has another history of the timeline that the next promotion
// begins, of the same number. It is cloned, and serves no reads until then.
func TestDivergedMemberIsCloned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	w.sql("db-2", "SELECT pg_promote()")
	w.sql("db-2", "INSERT INTO t VALUES ('diverged')")
	w.sql("db-2", "CHECKPOINT")
	w.kubelet.kill("db-0", false)
	w.until("a promotion", func(s *v1.PostgresClusterStatus) bool { return s.Promotion.Number == 2 && s.Phase == "Complete" })
	w.completes(3)
	if rows, err := w.ask("db-2", "SELECT v FROM t"); err != nil || rows != "a" {
		t.Errorf("the member that diverged has %s (%v)", rows, err)
	}
}

// A standby whose log is another one than the primary's, and that follows already, is not left at
// that.
func TestDivergedStandbyDoesNotStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	// It is promoted by hand while the operator does nothing, and made a standby again.
	w.sql("db-1", "SELECT pg_promote()")
	w.sql("db-1", "INSERT INTO t VALUES ('diverged')")
	w.sql("db-1", "CHECKPOINT")
	uid := w.uid("db-1")
	var once sync.Once
	w.before = func(what string) {
		if what == "delete Pod on db-1" {
			once.Do(func() {
				if role := w.labeled(roleReplica); role != "" {
					t.Errorf("-ro leads to %s, which diverged", role)
				}
			})
		}
	}
	w.until("another pod", func(*v1.PostgresClusterStatus) bool { now := w.uid("db-1"); return now != uid && now != "" })
	w.completes(2)
	if rows, err := w.ask("db-1", "SELECT v FROM t"); err != nil || rows != "" {
		t.Errorf("the member that diverged has %s (%v)", rows, err)
	}
}
