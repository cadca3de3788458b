package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A container that spec.containers leaves out is inspected only to fill a record
// that was lost, never because the pod waits for the rollout.
func TestContainersOfAKeptPod(t *testing.T) {
	for name, tc := range map[string]struct {
		lost bool
		want []string
	}{
		"the record knows its endpoints": {want: []string{"app"}},
		"the record was lost":            {lost: true, want: []string{"app", "other"}},
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
