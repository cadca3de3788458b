package controller

import (
	"maps"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// foreign is an object of this kind and name that no PostgresCluster made.
func (w *world) foreign(kind, name string) client.Object {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.object.Namespace, Name: name}
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "app", Image: "registry.example/app:1"}}}
	var object client.Object
	switch kind {
	case "Service":
		object = &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	case "PersistentVolumeClaim":
		meta.Labels = map[string]string{labelOf: "another"}
		object = &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	case "Pod":
		object = &corev1.Pod{ObjectMeta: meta, Spec: pod}
	case "CronJob":
		object = &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
			Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}},
		}}
	}
	w.must(admin.Create(w.t.Context(), object))
	return object
}

// unchanged asserts that a foreign object is as its maker left it, but for its status.
func (w *world) unchanged(object client.Object) {
	w.t.Helper()
	now := object.DeepCopyObject().(client.Object)
	w.must(admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), now))
	if now.GetUID() != object.GetUID() || now.GetGeneration() != object.GetGeneration() || !now.GetDeletionTimestamp().IsZero() ||
		len(now.GetOwnerReferences()) > 0 || now.GetAnnotations()[annotationStatement] != "" || now.GetLabels()[labelRole] != "" {
		w.t.Errorf("the foreign %s is now %+v", kindName(object), now)
	}
}

func withBackup(c *v1.PostgresCluster) {
	c.Spec.Backup = &v1.Backup{ClaimName: "backups", Schedule: "@daily"}
}

// An object that somebody else made of a name that is needed is said of, and left as it is. What
// was not made yet waits for the name.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"db-rw": "Service"} // TestForeignCronJob and TestNameTakenLater have the others
	if full() {
		maps.Copy(kinds, map[string]string{"db-ro": "Service", "db-0": "Pod", "db-backup": "CronJob"})
	}
	for name, kind := range kinds {
		t.Run(kind+" "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, withBackup)
			w.kubelet.hold(name) // the foreign pod has no claim
			object := w.foreign(kind, name)
			w.is("Planned", ReasonNameTaken)
			if message := w.object.Status.Message; !strings.Contains(message, kind+" "+name) {
				t.Errorf("it says %q, not of the %s %s", message, kind, name)
			}
			w.unchanged(object)
			w.must(admin.Delete(t.Context(), object, client.GracePeriodSeconds(0)))
			w.kubelet.release(name)
			w.completes(1)
		})
	}
	t.Run("a claim of an earlier cluster", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 1)
		object := w.foreign("PersistentVolumeClaim", "db-0")
		w.is("Planned", ReasonNameTaken)
		message := w.object.Status.Message
		if !strings.Contains(message, "PersistentVolumeClaim db-0") || !strings.Contains(message, "only copy") || strings.Contains(message, "Delete") {
			t.Errorf("it says %q", message)
		}
		w.unchanged(object)
	})
}

// An object that somebody else made in the place of one of a cluster that runs is said of, and
// left as it is; the cluster does without.
func TestNameTakenLater(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  string
		own   client.Object
		phase string
	}{
		"db-rw":     {"Service", &corev1.Service{}, "Synchronous"},
		"db-1":      {"Pod", &corev1.Pod{}, "Promoted"},
		"db-backup": {"CronJob", &batchv1.CronJob{}, "Serving"},
	} {
		if test.kind != "Pod" && !full() { // see TestNameTaken and TestForeignCronJob
			continue
		}
		t.Run(test.kind+" "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2, withBackup)
			w.completes(2)
			if test.kind == "Pod" {
				w.kubelet.kill(name, true)
			}
			w.load(name, test.own)
			w.must(admin.Delete(t.Context(), test.own, client.GracePeriodSeconds(0)))
			object := w.foreign(test.kind, name)
			if pod, ok := object.(*corev1.Pod); ok {
				pod.Status.Phase = corev1.PodFailed
				w.must(admin.Status().Update(t.Context(), pod))
			}
			w.is(test.phase, ReasonNameTaken)
			if message := w.object.Status.Message; !strings.Contains(message, test.kind+" "+name) {
				t.Errorf("it says %q, not of the %s %s", message, test.kind, name)
			}
			w.unchanged(object)
			w.must(admin.Delete(t.Context(), object, client.GracePeriodSeconds(0)))
			w.kubelet.release(name)
			w.completes(2)
		})
	}
}

// A CronJob of the name that backups would have is in nobody's way where none are wanted, and
// members that end are replaced beside it where they are.
func TestForeignCronJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	object := w.foreign("CronJob", "db-backup")
	w.completes(1)
	withBackup(w.get())
	w.must(admin.Update(t.Context(), w.object))
	w.is("Serving", ReasonNameTaken)
	uid := w.uid("db-0")
	w.kubelet.kill("db-0", false)
	w.until("another pod", func(*v1.PostgresClusterStatus) bool { now := w.uid("db-0"); return now != uid && now != "" })
	w.is("Serving", ReasonNameTaken)
	w.unchanged(object)
}
