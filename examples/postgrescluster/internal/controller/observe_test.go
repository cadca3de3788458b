package controller

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// Where a Service leads to another member, as it may for a while when a pod has the address of
// one that is gone, that one neither answers for the Service's member nor is it changed.
func TestAnotherMemberAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	c, err := w.reconciler.read(t.Context(), w.key())
	w.must(err)
	c.services["db-1"].Spec.ClusterIP = c.address("db-0")
	if c.observe(t.Context()); c.servers["db-0"] == nil || c.servers["db-1"] != nil {
		t.Errorf("at the address of db-0, db-0 answers as %+v and db-1 as %+v", c.servers["db-0"], c.servers["db-1"])
	}
	if err := w.reconciler.execute(t.Context(), c, "db-1", set("work_mem", "5MB"), reload); err == nil {
		t.Error("db-0 executes what is for db-1")
	}
}

// Replication slots that are not for members are their makers'.
func TestForeignSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	w.sql("db-0", "SELECT pg_create_physical_replication_slot('archive', true)")
	w.resize(2)
	w.completes(2)
	w.reconcile()
	if slots, err := w.ask("db-0", "SELECT slot_name FROM pg_replication_slots ORDER BY 1"); err != nil || slots != "archive,promotion_1_db_1" {
		t.Errorf("the primary keeps the log for %s (%v)", slots, err)
	}
}

// A cache may lag behind: a record that somebody wrote before the operator was elected is what
// it decides by, not the one that its cache has.
func TestStaleRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	empty := w.get().DeepCopy()
	w.completes(1)
	w.reconciler.Reader = stale{admin, empty}
	w.did = nil
	if _, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key()}); err != nil || len(w.did) > 0 {
		t.Errorf("by an older record it does %q (%v)", w.did, err)
	}
}

// stale has an older PostgresCluster.
type stale struct {
	client.Reader
	object *v1.PostgresCluster
}

func (s stale) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if c, ok := object.(*v1.PostgresCluster); ok {
		s.object.DeepCopyInto(c)
		return nil
	}
	return s.Reader.Get(ctx, key, object, options...)
}

// What ends the wait for a phase changes the key of its attempt: what PostgreSQL does no
// event announces, and intervals grow to minutes.
func TestKey(t *testing.T) {
	t.Parallel()
	c := func(streaming ...string) *cluster {
		return &cluster{
			object: &v1.PostgresCluster{}, record: &v1.PostgresClusterStatus{Primary: "db-0", Promotion: &v1.Promotion{Number: 1}},
			pods:    map[string]*corev1.Pod{"db-0": {}, "db-1": {}},
			servers: map[string]*server{"db-0": {Slot: member.Slot(1, "db-0"), Streaming: streaming}, "db-1": {InRecovery: true}},
		}
	}
	if c().key() == c("db-1").key() {
		t.Error("that a standby streams does not change the key")
	}
}
