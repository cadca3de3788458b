package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
		s := aScope(aProcess("app", 9400))
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
			got = append(got, c.name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The UID under which the kubelet runs a pod, which the mounts of its containers contain: a
// static pod is a different object than its mirror in the API server.
func TestTargetPodUID(t *testing.T) {
	const uid, hash = "0f3f5a6e-0000-4000-8000-000000000000", "8c2b1a4de0f95d3b7a6c1e2f3d4b5a69"
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        types.UID
	}{
		"the pod is from the API server":               {want: uid},
		"the pod is static":                            {map[string]string{"kubernetes.io/config.mirror": hash, "kubernetes.io/config.hash": hash}, hash},
		"the pod is static, and has a UID":             {map[string]string{"kubernetes.io/config.mirror": "11111111-2222-4333-8444-555555555555"}, "11111111-2222-4333-8444-555555555555"},
		"the mirror annotation is missing":             {map[string]string{"kubernetes.io/config.hash": hash}, uid},
		"the mirror annotation is empty":               {map[string]string{"kubernetes.io/config.mirror": ""}, uid},
		"the mirror annotation is a path":              {map[string]string{"kubernetes.io/config.mirror": "../" + hash}, uid},
		"the mirror annotation has several lines":      {map[string]string{"kubernetes.io/config.mirror": hash + "\n{}"}, uid},
		"the mirror annotation has a second word":      {map[string]string{"kubernetes.io/config.mirror": hash + " always"}, uid},
		"the mirror annotation is longer than any UID": {map[string]string{"kubernetes.io/config.mirror": hash + hash + hash}, uid},
	} {
		s := aScope(aProcess("app", 9400))
		s.Pod.UID, s.Pod.Annotations = uid, tc.annotations
		if got := Target(s.Pod, "app").PodUID; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
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
