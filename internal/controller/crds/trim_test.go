package crds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Whoever writes an exporter cannot fill the cache with its metadata, nor gain a right or lose a
// resumption by a value that is too long.
func TestTrim(t *testing.T) {
	large := strings.Repeat("a", maxAnnotation+1)
	of := func(annotations map[string]string) *v1alpha1.PrometheusJmxExporter {
		e := &v1alpha1.PrometheusJmxExporter{}
		e.Name, e.UID = "exporter", "exporter"
		e.Labels, e.Finalizers = map[string]string{"a": "b"}, []string{"example.com/" + large}
		e.OwnerReferences, e.ManagedFields = []metav1.OwnerReference{{Name: large}}, []metav1.ManagedFieldsEntry{{Manager: large}}
		e.Annotations = annotations
		trim(e)
		return e
	}
	stamped := map[string]string{v1alpha1.AnnotationRequester: "alice", v1alpha1.AnnotationRequesterGroups: `["developers"]`, v1alpha1.AnnotationResume: "1"}
	want := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Name: "exporter", UID: "exporter", Annotations: stamped}}
	got := of(map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": large,
		v1alpha1.AnnotationRequester:                       "alice", v1alpha1.AnnotationRequesterGroups: `["developers"]`, v1alpha1.AnnotationResume: "1",
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a usual exporter (-want +got):\n%s", diff)
	}

	first := of(map[string]string{v1alpha1.AnnotationResume: large})
	if n := len(first.Annotations[v1alpha1.AnnotationResume]); n > 100 {
		t.Errorf("a long value that resumes a rollout: got %d bytes", n)
	}
	resume := steps.Resume(first)
	if trim(first); steps.Resume(first) != resume {
		t.Error("trimmed twice, an exporter resumes its rollout")
	}
	if second := of(map[string]string{v1alpha1.AnnotationResume: large + "b"}); steps.Resume(second) == resume {
		t.Error("another long value does not resume a rollout")
	}

	forged := of(map[string]string{v1alpha1.AnnotationRequester: "alice", v1alpha1.AnnotationRequesterGroups: `["` + large + `"]`})
	if who, problem := steps.RequesterOf(forged); who != nil || problem == "" {
		t.Errorf("with groups that are too long: got requester %v and problem %q, want a problem", who, problem)
	}
}
