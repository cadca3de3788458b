package controller

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
)

// When no member has data, the newest base backup is restored, and an Event says of when it
// is; the cluster keeps its system identifier, and the other members join.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorldWithBackups(t, 2)
	w.completes(2)
	identifier := w.object.Status.SystemIdentifier
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	w.runBackup()
	w.sql("db-0", "INSERT INTO t VALUES ('b')")

	for _, name := range []string{"db-0", "db-1"} {
		w.kubelet.loseClaim(name)
		w.kubelet.kill(name, false)
	}
	w.until("the restore", func(s *v1.PostgresClusterStatus) bool { return s.Restoring })
	w.completes(2)
	w.has("a")
	if s := w.object.Status; s.SystemIdentifier != identifier || s.Promotion.Number < 2 {
		t.Errorf("the system identifier is %s, not %s, and the promotion %+v", s.SystemIdentifier, identifier, s.Promotion)
	}
	select {
	case event := <-w.events.Events:
		if !strings.Contains(event, "Warning Restored") || !strings.Contains(event, time.Now().UTC().Format("2006-01-02")) {
			t.Errorf("the event is %q", event)
		}
	default:
		t.Error("no event says that commits are lost")
	}

	// Backups that are not wanted any more are not made.
	w.get().Spec.Backup = nil
	w.must(admin.Update(t.Context(), w.object))
	w.completes(2)
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: "db-backup"}, &batchv1.CronJob{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the CronJob is still there (%v)", err)
	}
}

// newWorldWithBackups has base backups made of the world's cluster.
func newWorldWithBackups(t *testing.T, size int32) *world {
	t.Helper()
	w := newWorld(t, size, func(c *v1.PostgresCluster) {
		c.Spec.Backup = &v1.Backup{ClaimName: "backups", Schedule: "0 3 * * *"}
	})
	w.must(admin.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}))
	return w
}

// The operator ends before or after each of its effects while the base backup is restored: one
// loss of all data for each way, all of one cluster. It is never seeded anew, and each restore is said.
func TestCrashWhileRestoring(t *testing.T) {
	t.Parallel()
	w := newWorldWithBackups(t, 1)
	w.completes(1)
	identifier := w.object.Status.SystemIdentifier
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	w.runBackup()
	restore := func(as []*effectstest.Accident) []string {
		w.kubelet.loseClaim("db-0")
		w.kubelet.kill("db-0", false)
		promotions := w.object.Status.Promotions
		w.did, w.accidents = nil, as
		w.until("a promotion", func(s *v1.PostgresClusterStatus) bool {
			return s.Promotions > promotions && s.Promotion != nil && s.Announced == nil
		})
		w.completes(1)
		did := w.did
		w.accidents = nil
		if w.has("a"); w.object.Status.SystemIdentifier != identifier || len(w.events.Events) == 0 {
			t.Errorf("the system identifier is %s, not %s, and there are %d events", w.object.Status.SystemIdentifier, identifier, len(w.events.Events))
		}
		for len(w.events.Events) > 0 {
			<-w.events.Events
		}
		return did
	}
	crashes(t, restore)
}

// runBackup runs the pod of the CronJob once, as its controller does when it is time.
func (w *world) runBackup() {
	w.t.Helper()
	job := &batchv1.CronJob{}
	w.load("db-backup", job)
	template := job.Spec.JobTemplate.Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "backup", Labels: template.Labels}, Spec: template.Spec}
	w.must(admin.Create(w.t.Context(), pod))
	w.until("a backup", func(*v1.PostgresClusterStatus) bool {
		w.must(admin.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod))
		if pod.Status.Phase == corev1.PodFailed {
			w.t.Fatalf("the backup failed: %s", pod.Status.ContainerStatuses[0].State.Terminated.Message)
		}
		return pod.Status.Phase == corev1.PodSucceeded
	})
}
