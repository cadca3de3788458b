package controller

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// An operator whose place was taken, and that was about to write what it had read, does not replace a
// later record; until the claims have its voters, none of them acknowledges a commit.
func TestLaterRecordStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	w.resize(2)
	const name, later = "db-0", 1000
	recorded := false
	w.before = func(what string) {
		switch {
		case what == "apply postgrescluster-operator/record on "+name && !recorded:
			recorded = true
			w.record(name, func(r *claimRecord) { r.Revision = later })
		case recorded && strings.HasPrefix(what, "sql set synchronous_standby_names"):
			t.Error("voters acknowledge commits that the claims do not record")
		}
	}
	w.until("the record of another voter", func(*v1.PostgresClusterStatus) bool { return recorded })
	w.hasRecord(name, later)
	w.before = nil
	w.completes(2)
}

// The status that an operator whose place was taken has read is not recorded over what the next one
// recorded meanwhile.
func TestLaterRecordStaysWhileRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	const name, later = "db-0", 1000
	r := w.newReconciler()
	r.Live = &afterGet{admin, func() { w.record(name, func(r *claimRecord) { r.Revision = later }) }}
	_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key()})
	w.hasRecord(name, later)
}

// A claim that was just restored is not older for its record.
func TestRecordOfRestoredClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	const name, label = "db-0", "app.kubernetes.io/name"
	w.record(name, func(r *claimRecord) { r.Revision-- })
	claim := &corev1.PersistentVolumeClaim{}
	w.load(name, claim)
	claim.Labels[label] = "other"
	w.must(admin.Update(t.Context(), claim))
	w.reconcile()
	if w.load(name, claim); claim.Labels[label] == "other" {
		t.Error("the label is not restored")
	}
	w.hasRecord(name, w.object.Status.Revision)
}

// hasRecord asserts the revision of the record on a claim.
func (w *world) hasRecord(name string, revision int64) {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	w.load(name, claim)
	record, err := (&cluster{object: w.object}).recorded(claim)
	w.must(err)
	if record == nil || record.Revision != revision {
		w.t.Errorf("the record is %+v, want revision %d", record, revision)
	}
}

// afterGet does something after each read of a PostgresCluster.
type afterGet struct {
	client.Client
	do func()
}

func (c *afterGet) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, key, object, options...)
	if _, ok := object.(*v1.PostgresCluster); ok {
		c.do()
	}
	return err
}
