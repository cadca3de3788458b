package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A container that spec.containers does not select is inspected only to fill a record
// that was lost, not because the pod waits for a slot.
func TestContainersOfAKeptPod(t *testing.T) {
	for name, tc := range map[string]struct {
		lost bool
		want []string
	}{
		"the status has the endpoints": {want: []string{"app"}},
		"the record was lost":          {lost: true, want: []string{"app", "other"}},
	} {
		s := aSituation(aProcess("app", 9400))
		s.Granted, s.Exporter.Spec.Containers = false, []v1alpha1.ContainerName{"app"}
		s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: "other"})
		s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "other", ContainerID: "containerd://other", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
		s.Published = []PublishedEndpoint{{Address: s.Pod.Status.PodIP, Port: 9400}}
		s.Status().Containers = []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "containerd://app", Time: new(s.Now)}}
		if tc.lost {
			s.Status().Containers = nil
		}
		var got []string
		for _, c := range s.containers() {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A revision covers everything that affects a pod, and the exporter's UID, so that a grant
// of one exporter does not count for its successor.
func TestRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.PrometheusJmxExporter)
		same   bool
	}{
		"nothing changes":  {func(*v1alpha1.PrometheusJmxExporter) {}, true},
		"the port changes": {func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port++ }, false},
		"the rollout is resumed": {func(e *v1alpha1.PrometheusJmxExporter) {
			e.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
		}, true},
		"the limits of the rollout change": {func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Rollout.MaxConcurrent++ }, true},
		"the exporter is recreated":        {func(e *v1alpha1.PrometheusJmxExporter) { e.UID = "successor" }, false},
		"the resourceVersion changes":      {func(e *v1alpha1.PrometheusJmxExporter) { e.ResourceVersion, e.Generation = "2", 2 }, true},
	} {
		e := &v1alpha1.PrometheusJmxExporter{}
		e.Name, e.UID = "exporter", "exporter"
		before := Revision(e, Inputs{}, &Artifacts{})
		tc.change(e)
		if same := Revision(e, Inputs{}, &Artifacts{}) == before; same != tc.same {
			t.Errorf("%s: revision unchanged: got %t, want %t", name, same, tc.same)
		}
	}
}
