package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// Another image reaches all members, one at a time, the primary last; it stays the primary.
func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.sql("db-0", "INSERT INTO t VALUES ('a')")
	w.get().Spec.Image = "registry.example/member:2"
	w.must(admin.Update(t.Context(), w.object))
	w.did = nil
	w.completes(3)
	var deleted []string
	for _, what := range w.did {
		if len(what) > 6 && what[:6] == "delete" {
			deleted = append(deleted, what[len(what)-4:])
		}
	}
	if got := len(deleted); got != 3 || deleted[2] != "db-0" {
		t.Errorf("the pods are replaced in the order %v", deleted)
	}
	var pods corev1.PodList
	w.must(admin.List(t.Context(), &pods, client.InNamespace(w.object.Namespace)))
	for _, pod := range pods.Items {
		if pod.Spec.Containers[0].Image != "registry.example/member:2" {
			t.Errorf("the pod %s has the image %s", pod.Name, pod.Spec.Containers[0].Image)
		}
		pod.Spec.Containers[0].Image = "mirror.example/member:2" // as admission may have it
		w.must(admin.Update(t.Context(), &pod))
	}
	w.idles(5, "since admission changed images")
	if w.object.Status.Primary != "db-0" {
		t.Errorf("the primary is %s", w.object.Status.Primary)
	}
	w.has("a")
}

// What the spec says of claims holds for those that are there: whether they are deleted
// with the PostgresCluster, and how large they are.
func TestClaims(t *testing.T) {
	t.Parallel()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "expands-"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true)}
	if err := admin.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 1, func(c *v1.PostgresCluster) {
		c.Spec.Storage = v1.Storage{StorageClassName: &class.Name, WhenDeleted: v1.Delete, Size: resource.MustParse("1Gi")}
	})
	w.completes(1)
	claim := func() *corev1.PersistentVolumeClaim {
		t.Helper()
		c := &corev1.PersistentVolumeClaim{}
		w.load("db-0", c)
		return c
	}
	secret := func() *corev1.Secret {
		t.Helper()
		s := &corev1.Secret{}
		w.load("db-credentials", s)
		return s
	}
	password := string(secret().Data[passwordKey])
	if !metav1.IsControlledBy(claim(), w.object) || !metav1.IsControlledBy(secret(), w.object) {
		t.Error("the claim, or the Secret with the password, is not deleted with the PostgresCluster")
	}
	w.get().Spec.Storage.WhenDeleted = v1.Retain
	w.object.Spec.Storage.Size = resource.MustParse("2Gi")
	w.must(admin.Update(t.Context(), w.object))
	w.completes(1)
	if c := claim(); len(c.OwnerReferences) > 0 || c.Spec.Resources.Requests.Storage().String() != "2Gi" {
		t.Errorf("the claim has the owners %v and requests %s", c.OwnerReferences, c.Spec.Resources.Requests.Storage())
	}
	if s := secret(); len(s.OwnerReferences) > 0 || string(s.Data[passwordKey]) != password {
		t.Errorf("the Secret has the owners %v, or another password", s.OwnerReferences)
	}

	// What the class refuses is said, and the cluster stays Ready.
	class.AllowVolumeExpansion = new(false)
	w.must(admin.Update(t.Context(), class))
	w.get().Spec.Storage.Size = resource.MustParse("3Gi")
	w.must(admin.Update(t.Context(), w.object))
	w.is("Serving", ReasonObjectRefused)
	if ready := meta.FindStatusCondition(w.object.Status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", ready)
	}
}

// More storage is what helps a member whose claim is full, so it does not wait for a primary.
func TestClaimsGrowWithoutPrimary(t *testing.T) {
	t.Parallel()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "expands-"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true)}
	if err := admin.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 1, func(c *v1.PostgresCluster) { c.Spec.Storage.StorageClassName = &class.Name })
	w.completes(1)
	w.kubelet.kill("db-0", true)
	w.until("the loss", func(s *v1.PostgresClusterStatus) bool { return s.Phase == "Seeded" })
	w.get().Spec.Storage.Size = resource.MustParse("2Gi")
	w.must(admin.Update(t.Context(), w.object))
	w.until("more storage", func(*v1.PostgresClusterStatus) bool {
		claim := &corev1.PersistentVolumeClaim{}
		w.load("db-0", claim)
		return claim.Spec.Resources.Requests.Storage().String() == "2Gi"
	})
	w.kubelet.release("db-0")
	w.completes(1)
}

// Where members run is for the spec to say, also of those that are there.
func TestPlacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(c *v1.PostgresCluster) { c.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	w.completes(1)
	placed := func(selector string, apart bool) {
		t.Helper()
		var pods corev1.PodList
		w.must(admin.List(t.Context(), &pods, client.InNamespace(w.object.Namespace)))
		for _, pod := range pods.Items {
			if got := pod.Spec.NodeSelector["disk"]; got != selector {
				t.Errorf("the pod %s selects nodes with disk %q, want %q", pod.Name, got, selector)
			}
			if !apart {
				if pod.Spec.Affinity != nil {
					t.Errorf("the pod %s has an affinity", pod.Name)
				}
				continue
			}
			terms := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			if len(terms) != 1 || terms[0].TopologyKey != corev1.LabelHostname || terms[0].LabelSelector.MatchLabels["app.kubernetes.io/instance"] != "db" {
				t.Errorf("the pod %s keeps away from %+v", pod.Name, terms)
			}
		}
	}
	placed("fast", false)
	w.get().Spec.NodeSelector, w.object.Spec.AntiAffinity = nil, true
	w.must(admin.Update(t.Context(), w.object))
	w.completes(1)
	placed("", true)
}
