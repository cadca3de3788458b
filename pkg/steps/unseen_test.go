package steps

import (
	"slices"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// lostRecord returns the situation of a pod whose record was lost: its first container, which is
// privileged, may serve a published endpoint.
func lostRecord(containers ...string) *scene {
	s := aSituation()
	for _, c := range containers {
		s.runs(c)
	}
	privileged(s.Pod)
	s.Published = []PublishedEndpoint{{Address: anAddress, Port: 9400}}
	return s
}

// find ensures FindJava.
func (s *scene) find(t *testing.T, answers map[string]func() (*helperapi.Report, error)) {
	t.Helper()
	s.Helper = &answering{answers: answers}
	FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
}

func (s *scene) expectUnseen(t *testing.T, when string, want ...int32) {
	t.Helper()
	if got := record.UnseenPorts(s.Status()); !slices.Equal(got, want) {
		t.Errorf("%s: unseen ports: got %v, want %v", when, got, want)
	}
}

// replace replaces the first container by another instance.
func (s *scene) replace() { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://another" }

// A container that becomes protected before it was inspected keeps what it may serve, whatever
// was tried before; another instance serves nothing.
func TestUnseenAfterATry(t *testing.T) {
	for name, restarts := range map[string]bool{"the container runs on": false, "the container restarts": true} {
		t.Run(name, func(t *testing.T) {
			s := lostRecord("a")
			s.Protection.Allowed = map[string][]string{"allow-privileged": nil}
			s.find(t, map[string]func() (*helperapi.Report, error){"a inspect": says(v1alpha1.ReasonExecTimeout)})
			want := []int32{9400}
			if s.Protection = (pod.Protection{}); restarts {
				s.replace()
				want = nil
			}
			s.find(t, nil)
			s.expectUnseen(t, "the flag is removed", want...)
			if restarts { // then nothing of the pod stays published
				s.Published = nil
			}
			if !record.EndpointsKnown(s.Status()) {
				t.Error("the endpoints are not known, although nothing is left to inspect")
			}
			s.Protection.Allowed = map[string][]string{"allow-privileged": nil, "allow-host-pid": nil}
			s.find(t, map[string]func() (*helperapi.Report, error){"a inspect": says(v1alpha1.ReasonExecTimeout)})
			s.Protection = pod.Protection{}
			s.find(t, nil)
			s.expectUnseen(t, "the flag comes and goes", want...)
		})
	}
}

// What a protected container may serve is kept when the exporter no longer names the container,
// until it restarts.
func TestUnseenNotChosen(t *testing.T) {
	s := lostRecord("a", "b")
	nothing := map[string]func() (*helperapi.Report, error){"b inspect": sees()}
	s.find(t, nothing)
	s.expectUnseen(t, "the record is lost", 9400)
	s.Exporter.Spec.Containers = []v1alpha1.ContainerName{"b"}
	s.find(t, nothing)
	s.expectUnseen(t, "the container is no longer named", 9400)
	s.replace()
	if !s.inspectionDue() {
		t.Error("the container restarts: nothing is due, although the record names what is gone")
	}
	s.find(t, nothing)
	s.expectUnseen(t, "the container restarts")
}
