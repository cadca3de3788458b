package controller

import (
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// A lag is what keeps the walreceiver of a standby from receiving.
type lag int

const (
	none    lag = iota
	slow        // it receives a little of the time
	stopped     // it receives nothing
)

// A laggard is a walreceiver that lags, with the function that ends the lag.
type laggard struct {
	pid     int
	catchUp func()
}

// lags has the walreceiver of a standby fall behind. What a signal stops the server does not end:
// it is continued with the test at the latest.
func (w *world) lags(how lag, name string) laggard {
	w.t.Helper()
	if how == none {
		return laggard{catchUp: func() {}}
	}
	text, err := w.ask(name, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walreceiver'")
	w.must(err)
	pid, err := strconv.Atoi(text)
	w.must(err)
	w.must(syscall.Kill(pid, syscall.SIGSTOP))
	ended := make(chan struct{})
	var running sync.WaitGroup
	if how == slow {
		running.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(400 * time.Millisecond):
					_ = syscall.Kill(pid, syscall.SIGCONT)
					<-time.After(5 * time.Millisecond)
					_ = syscall.Kill(pid, syscall.SIGSTOP)
				}
			}
		})
	}
	catchUp := sync.OnceFunc(func() {
		close(ended)
		running.Wait()
		_ = syscall.Kill(pid, syscall.SIGCONT)
	})
	w.t.Cleanup(catchUp)
	return laggard{pid, catchUp}
}

// restart kills a member and the walreceiver that lags: what the socket has for it is gone.
func (w *world) restart(name string, l laggard) {
	w.t.Helper()
	w.kubelet.kill(name, false)
	w.must(syscall.Kill(l.pid, syscall.SIGKILL))
}

// fill has a primary write more of the log than the buffers of a connection hold: 32 MB.
func (w *world) fill(name string) {
	w.t.Helper()
	w.sql(name, "SELECT count(pg_logical_emit_message(false, 'filler', repeat('x', 1 << 20))) FROM generate_series(1, 32)")
}

// A standby that is behind does not stay in the place of the one that acknowledged a commit.
func TestShrinkKeepsAcknowledgedCommits(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]lag{"a standby receives nothing": stopped, "a standby is slow": slow, "all keep up": none} {
		if how != stopped && !full() { // TestResize has standbys that keep up
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			w.completes(3)
			w.sql("db-0", "CREATE TABLE t (v text)")
			lagging := w.lags(how, "db-1")
			w.fill("db-0")
			w.sql("db-0", "INSERT INTO t VALUES ('a')") // which db-2 acknowledges
			w.resize(2)
			w.until("two voters", func(s *v1.PostgresClusterStatus) bool { return len(s.Voters) == 2 && len(s.NextVoters) == 0 })
			if !slices.Contains(w.object.Status.Voters, "db-1") {
				lagging.catchUp() // or its server does not end
			}
			w.kubelet.kill("db-0", true)
			lagging.catchUp()
			w.losesPrimary()
			w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-0" && s.Announced == nil })
			w.has("a")
		})
	}
}

// New voters count only when enough of them have what the former ones acknowledged.
func TestGrowthKeepsAcknowledgedCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.resize(4)
	var first, second laggard
	var once sync.Once
	w.before = func(what string) {
		if what == "sql set synchronous_standby_names on db-0" {
			once.Do(func() {
				first, second = w.lags(stopped, "db-1"), w.lags(stopped, "db-3")
				w.sql("db-0", "INSERT INTO t VALUES ('a')") // which db-2 acknowledges
			})
		}
	}
	w.until("four voters, announced", func(*v1.PostgresClusterStatus) bool { return second.pid != 0 })
	w.kubelet.kill("db-0", true)
	w.kubelet.kill("db-2", true)
	w.restart("db-1", first)
	w.restart("db-3", second)
	w.losesPrimary()
	w.until("both standbys, back", func(*v1.PostgresClusterStatus) bool {
		_, err := w.ask("db-1", "SELECT 1")
		_, other := w.ask("db-3", "SELECT 1")
		return err == nil && other == nil
	})
	w.outlastsFailoverDelay()
	w.kubelet.release("db-2")
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-0" && s.Announced == nil })
	w.has("a")
}

// A standby that follows a promotion, and received nothing of it yet, has less than the former
// primary: by the next failover, the commit that the former one acknowledged stays.
func TestSecondFailoverKeepsAcknowledgedCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	lagging := w.lags(stopped, "db-1")
	w.fill("db-0")
	w.sql("db-0", "INSERT INTO t VALUES ('a')") // which db-2 acknowledges
	w.kubelet.kill("db-0", true)
	lagging.catchUp()
	gone := false
	w.before = func(what string) {
		if what == "sql set primary_slot_name on db-1" && !gone { // to follow db-2, which is gone
			gone = true
			w.kubelet.kill("db-2", true)
		}
	}
	w.losesPrimary()
	w.until("db-1 follows db-2", func(_ *v1.PostgresClusterStatus) bool { return gone })
	if primary := w.object.Status.Primary; primary != "db-2" {
		t.Fatalf("the primary is %s, not db-2, which alone has the commit", primary)
	}
	w.kubelet.release("db-0")
	w.losesPrimary()
	w.until("a third primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-2" && s.Announced == nil })
	w.has("a")
	w.kubelet.release("db-2")
	w.completes(3)
	w.has("a")
}
