package controller

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// The life of a cluster: it comes to its last phase, loses a standby, its primary for a
// moment, its primary for good, and all members; what was acknowledged stays.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	if w.object.Status.Primary != "db-0" || w.object.Status.SystemIdentifier == "" || w.object.Status.Version == "" {
		t.Errorf("the status is %+v", w.object.Status)
	}
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")

	// Nothing is written while nothing differs.
	version := w.object.ResourceVersion
	if w.idles(5, "while nothing differs"); w.object.ResourceVersion != version {
		t.Error("while nothing differs, the object changes")
	}

	w.kubelet.kill("db-2", false)
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.Members == "2/3" })
	w.completes(3)

	// It is soon back, and nobody takes its place.
	w.kubelet.kill("db-0", false)
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.Phase == "Seeded" })
	w.completes(3)
	if w.object.Status.Primary != "db-0" || w.object.Status.Promotion.Number != 2 {
		t.Errorf("the primary is %s by promotion %+v", w.object.Status.Primary, w.object.Status.Promotion)
	}
	w.has("a")

	// It does not come back: a standby takes its place.
	w.sql("db-0", "INSERT INTO t VALUES ('b')")
	w.kubelet.kill("db-0", true)
	w.losesPrimary()
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-0" && s.Phase == "Serving" })
	w.has("a,b")
	w.sql(w.object.Status.Primary, "INSERT INTO t VALUES ('c')")
	w.kubelet.release("db-0")
	w.completes(3)
	w.has("a,b,c")

	for _, name := range []string{"db-0", "db-1", "db-2"} {
		w.kubelet.kill(name, false)
	}
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.Phase == "Seeded" })
	w.completes(3)
	w.has("a,b,c")
}

// A primary that restarts has its standbys again before the operator has promoted it, and
// they connect again whenever they are cut off.
func TestStandbysReconnectToRestartedPrimary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	uid := w.uid("db-0")
	w.kubelet.kill("db-0", false)
	w.until("another pod", func(*v1.PostgresClusterStatus) bool { now := w.uid("db-0"); return now != uid && now != "" })
	w.must(wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		// For longer than they wait between two tries.
		n, err := w.ask("db-0", "SELECT count(*) FROM pg_stat_replication WHERE backend_start < now() - interval '2 seconds'")
		return err == nil && n == "2", nil
	}))
	w.did, w.latency = nil, 100*time.Millisecond
	w.completes(3)
	if drops := w.count(func(what string) bool { return what == "sql drop slot on db-0" }); drops != 2 {
		t.Errorf("two slots were dropped in %d tries", drops)
	}
	if w.object.Status.Primary != "db-0" || w.object.Status.Promotion.Number != 2 {
		t.Errorf("the primary is %s by promotion %+v", w.object.Status.Primary, w.object.Status.Promotion)
	}
}

// A standby alone, which may lack a commit that another one acknowledged, is not promoted;
// with the other one, the one that has it is.
func TestQuorumMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.kubelet.kill("db-1", true)
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.Members == "2/3" })
	w.sql("db-0", "INSERT INTO t VALUES ('a')") // which db-2 acknowledges
	w.kubelet.kill("db-2", true)
	w.kubelet.kill("db-0", true)
	w.kubelet.release("db-1")
	w.losesPrimary()
	w.until("a standby alone", func(s *v1.PostgresClusterStatus) bool { return s.Reason == ReasonQuorumMissing })
	w.outlastsFailoverDelay()
	if s := w.object.Status; s.Primary != "db-0" || s.Announced != nil || s.Reason != ReasonQuorumMissing {
		t.Fatalf("the primary is %s, announced %+v, because of %s", s.Primary, s.Announced, s.Reason)
	}
	w.kubelet.release("db-2")
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary == "db-2" && s.Announced == nil })
	w.has("a")
	w.kubelet.release("db-0")
	w.completes(3)
}
