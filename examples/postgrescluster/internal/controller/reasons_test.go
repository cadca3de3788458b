package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// Members come and go one after the other, the primary is never among those that go, and
// what goes keeps its claim.
func TestResize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	w.resize(3)
	w.completes(3)
	w.sql("db-0", "INSERT INTO t VALUES ('b')")
	if names, err := w.ask("db-0", "SHOW synchronous_standby_names"); err != nil || names != `ANY 1 ("db-1", "db-2")` {
		t.Errorf("the primary waits for %s (%v)", names, err)
	}
	w.resize(2)
	w.completes(2)
	w.sql("db-0", "INSERT INTO t VALUES ('c')")
	claim := &corev1.PersistentVolumeClaim{}
	w.load("db-2", claim)
	w.reconcile()
	if slots, err := w.ask("db-0", "SELECT slot_name FROM pg_replication_slots"); err != nil || slots != "promotion_1_db_1" {
		t.Errorf("the primary keeps the log for %s (%v)", slots, err)
	}
	w.resize(3)
	w.completes(3)
	changes := 0
	w.resize(1)
	w.until("1 member", func(s *v1.PostgresClusterStatus) bool {
		if len(s.NextVoters) > 0 {
			changes++
			if len(s.Voters)-len(s.NextVoters) != 1 {
				t.Errorf("the voters change from %v to %v", s.Voters, s.NextVoters)
			}
		}
		return s.Phase == "Complete" && s.Members == "1/1"
	})
	w.completes(1)
	w.resize(3)
	w.completes(3)
	if rows, err := w.ask("db-2", "SELECT v FROM t ORDER BY v"); err != nil || rows != "a,b,c" {
		t.Errorf("the member that came back has %s (%v)", rows, err)
	}
}

func (w *world) resize(size int32) {
	w.t.Helper()
	w.get().Spec.Size = size
	w.must(admin.Update(w.t.Context(), w.object))
}

// A primary that lives on where nobody hears it acknowledges nothing.
func TestPrimaryCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.sql("db-0", "CREATE TABLE t (v text)")
	// It is not heard: its Service leads elsewhere.
	pod := &corev1.Pod{}
	w.load("db-0", pod)
	pod.Status.Phase = corev1.PodUnknown
	w.must(admin.Status().Update(t.Context(), pod))
	w.losesPrimary()
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary == "db-1" && s.Announced == nil })
	conn, err := w.connect(t.Context(), "db-0")
	w.must(err)
	answer := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "INSERT INTO t VALUES ('lost')")
		answer <- err
	}()
	w.must(wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		waits, err := w.ask("db-0", "SELECT wait_event FROM pg_stat_activity WHERE query LIKE 'INSERT%'")
		return waits == "SyncRep", err
	}))
	select {
	case err := <-answer:
		t.Errorf("a primary that was cut off answered a commit with %v", err)
	default: // it waits for a standby
	}
}

// What a person has to mend has a reason and a message, and is retried once it is mended.
func TestReasons(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(w *world)
		reason  string
		says    string
		mend    func(w *world)
	}{
		"a Secret without a password": {
			prepare: func(w *world) {
				w.must(admin.Create(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "db-credentials"}}))
			},
			reason: ReasonCredentialsMissing, says: "db-credentials",
			mend: func(w *world) {
				w.must(admin.Update(w.t.Context(), &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "db-credentials"}, StringData: map[string]string{"password": "chosen"},
				}))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			test.prepare(w)
			w.is("Planned", test.reason)
			if message := w.object.Status.Message; !strings.Contains(message, test.says) {
				t.Errorf("it says %q, not of %s", message, test.says)
			}
			if test.mend != nil {
				test.mend(w)
				w.completes(1)
			}
		})
	}
}

// Whoever deletes a PostgresCluster that is paused keeps the data if the spec says so.
func TestPausedKeepsClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	for _, deleted := range []v1.WhenDeleted{v1.Delete, v1.Retain} {
		w.get().Spec.Paused, w.object.Spec.Storage.WhenDeleted = true, deleted
		w.must(admin.Update(t.Context(), w.object))
		w.reconcile()
		for name, object := range map[string]client.Object{"db-0": &corev1.PersistentVolumeClaim{}, secretName("db"): &corev1.Secret{}} {
			w.load(name, object)
			if goes := metav1.IsControlledBy(object, w.object); goes != (deleted == v1.Delete) {
				t.Errorf("whenDeleted %s: %s goes with the PostgresCluster: %t", deleted, name, goes)
			}
		}
	}
}

// What is paused stays as it is, also without its primary.
func TestPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	w.get().Spec.Paused = true
	w.must(admin.Update(t.Context(), w.object))
	w.reconcile()
	w.kubelet.kill("db-0", false)
	w.must(wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: w.object.Namespace, Name: "db-0"}, pod)
		return pod.Status.Phase == corev1.PodFailed, err
	}))
	w.did = nil
	w.outlastsFailoverDelay()
	if did := strings.Join(w.did, " "); strings.Contains(did, "sql") || strings.Contains(did, "delete") || w.object.Status.ObservedGeneration != w.object.Generation {
		t.Errorf("a cluster that is paused does %q, and its status is of generation %d", did, w.object.Status.ObservedGeneration)
	}
	w.get().Spec.Paused = false
	w.must(admin.Update(t.Context(), w.object))
	w.completes(2)

	// The time for which it was paused is none for which the primary was waited for.
	w.kubelet.kill(w.object.Status.Primary, true)
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.PrimaryLostTime != nil })
	w.get().Spec.Paused = true
	w.must(admin.Update(t.Context(), w.object))
	w.reconcile()
	if lost := w.object.Status.PrimaryLostTime; lost != nil {
		t.Errorf("while it is paused, the primary is waited for since %s", lost)
	}
	w.outlastsFailoverDelay()
	w.get().Spec.Paused = false
	w.must(admin.Update(t.Context(), w.object))
	primary := w.object.Status.Primary
	for range 3 { // less than the failover delay
		w.reconcile()
		w.passes(failoverDelay / 4)
		if s := w.object.Status; s.Announced != nil || s.Primary != primary {
			t.Fatalf("the primary is %s, announced %+v, without the failover delay", s.Primary, s.Announced)
		}
	}
	w.losesPrimary()
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != primary && s.Announced == nil })
}

// A Secret that is gone from a cluster that runs is said of, and nobody is promoted because
// the operator cannot ask any more.
func TestCredentialsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	secret := &corev1.Secret{}
	w.load("db-credentials", secret)
	w.must(admin.Delete(t.Context(), secret))
	w.is("Seeded", ReasonCredentialsMissing)
	w.outlastsFailoverDelay()
	if s := w.object.Status; s.Reason != ReasonCredentialsMissing || s.PrimaryLostTime != nil || s.Announced != nil {
		t.Errorf("it is %s because of %s; the primary is lost since %s, announced %+v", s.Phase, s.Reason, s.PrimaryLostTime, s.Announced)
	}
	w.must(admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "db-credentials"}, Data: secret.Data,
	}))
	w.completes(2)
	if p := w.object.Status.Promotion.Number; p != 1 {
		t.Errorf("it is promotion %d", p)
	}
}

// The version of the workshop's manifest.
func TestVersionUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(c *v1.PostgresCluster) { c.Spec.Version = "9.6.3" })
	w.is("Planned", ReasonVersionUnavailable)
	if w.idles(5, "without this version"); !strings.Contains(w.object.Status.Message, "9.6.3") {
		t.Errorf("it says %q", w.object.Status.Message)
	}
}

// A password that is not the members' is a reason of its own.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	secret := &corev1.Secret{}
	w.load("db-credentials", secret)
	right := secret.Data["password"]
	secret.Data["password"] = []byte("wrong")
	w.must(admin.Update(t.Context(), secret))
	w.until("the refusal", func(s *v1.PostgresClusterStatus) bool {
		return strings.Contains(s.Message, "password authentication failed")
	})
	secret.Data["password"] = right
	w.must(admin.Update(t.Context(), secret))
	w.completes(1)
}

// All data gone is never seeded anew, and a claim that comes back ends it.
func TestDataGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	kept := w.kubelet.loseClaim("db-0")
	w.kubelet.kill("db-0", false)
	w.is("Planned", ReasonDataGone)
	w.idles(20, "without data")
	w.kubelet.returnClaim("db-0", kept)
	w.must(admin.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "db-0"}}))
	w.completes(1)
}
