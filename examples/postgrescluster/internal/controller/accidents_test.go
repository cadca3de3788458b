package controller

import (
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// signal sends a signal to processes of a member, by a query that returns their IDs.
func (w *world) signal(signal syscall.Signal, name, query string) {
	pids, err := w.ask(name, query)
	if err != nil || pids == "" {
		w.t.Errorf("%s: no process is found by %s (%v)", name, query, err)
		return
	}
	for text := range strings.SplitSeq(pids, ",") {
		pid, err := strconv.Atoi(text)
		if err == nil {
			err = syscall.Kill(pid, signal)
		}
		if err != nil {
			w.t.Error(err)
		}
	}
}

// A standby that has not ended its recovery in time is not the primary yet.
func TestSlowPromotion(t *testing.T) {
	t.Parallel()
	const startup = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'"
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	var once sync.Once
	w.before = func(what string) {
		if what == "sql promote on db-1" {
			once.Do(func() { w.signal(syscall.SIGSTOP, "db-1", startup) })
		}
	}
	w.kubelet.kill("db-0", true)
	w.losesPrimary()
	w.until("a failed promotion", func(s *v1.PostgresClusterStatus) bool {
		if s.Primary == "db-1" {
			t.Fatalf("the record has db-1 as the primary, which is in recovery; it is %s because of %s", s.Phase, s.Reason)
		}
		return s.Reason == ReasonSQLError
	})
	w.signal(syscall.SIGCONT, "db-1", startup)
	w.kubelet.release("db-0")
	w.completes(2)
	if s := w.object.Status; s.Primary != "db-1" || s.Promotion.Number != 2 {
		t.Errorf("the primary is %s by promotion %+v", s.Primary, s.Promotion)
	}
}

// As long as a walsender may release commits by the former synchronous_standby_names, the
// former voters count.
func TestWalsenderThatStays(t *testing.T) {
	t.Parallel()
	const walsenders = "SELECT pid FROM pg_stat_replication WHERE state = 'streaming'"
	w := newWorld(t, 2)
	w.completes(2)
	w.resize(3)
	var once sync.Once
	w.before = func(what string) {
		if what == "sql end older walsenders on db-0" {
			once.Do(func() { w.signal(syscall.SIGSTOP, "db-0", walsenders) })
		}
	}
	w.until("a failure", func(s *v1.PostgresClusterStatus) bool {
		if len(s.Voters) == 3 {
			t.Fatalf("%v are the voters, and a walsender may go by the ones before", s.Voters)
		}
		return s.Reason == ReasonSQLError
	})
	w.signal(syscall.SIGCONT, "db-0", walsenders)
	w.completes(3)
}

// As long as the checkpointer has not read synchronous_standby_names, commits wait for no
// standby, whatever the setting says: neither do new voters count, nor is a member promoted.
func TestCheckpointerThatStays(t *testing.T) {
	t.Parallel()
	const checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
	stops := func(w *world, name string) {
		var once sync.Once
		w.before = func(what string) {
			if what == "sql set synchronous_standby_names on "+name {
				once.Do(func() { w.signal(syscall.SIGSTOP, name, checkpointer) })
			}
		}
	}
	t.Run("new voters do not count", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 1)
		w.completes(1)
		w.resize(2)
		stops(w, "db-0")
		w.until("a failure", func(s *v1.PostgresClusterStatus) bool {
			if len(s.Voters) == 2 {
				t.Fatalf("%v are the voters, and commits do not wait for them yet", s.Voters)
			}
			return s.Reason == ReasonSQLError
		})
		w.signal(syscall.SIGCONT, "db-0", checkpointer)
		w.completes(2)
	})
	t.Run("a member is not promoted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 2)
		w.completes(2)
		w.kubelet.kill("db-0", true)
		stops(w, "db-1")
		w.losesPrimary()
		w.until("a failure", func(s *v1.PostgresClusterStatus) bool {
			if recovery, err := w.ask("db-1", "SELECT pg_is_in_recovery()"); err != nil || recovery != "true" {
				t.Fatalf("db-1 is in recovery: %s (%v), and its commits do not wait for standbys yet", recovery, err)
			}
			return s.Reason == ReasonSQLError
		})
		w.signal(syscall.SIGCONT, "db-1", checkpointer)
		w.kubelet.release("db-0")
		w.completes(2)
	})
}
