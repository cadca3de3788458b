package record

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Containers run if the kubelet reports that, including sidecars.
func TestRuns(t *testing.T) {
	in := &corev1.Pod{}
	for _, name := range []string{"app", "worker"} {
		in.Spec.Containers = append(in.Spec.Containers, corev1.Container{Name: name})
		in.Status.ContainerStatuses = append(in.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, ContainerID: "containerd://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	runs := func() string {
		var names []string
		for _, name := range []string{"app", "worker"} {
			if p := aProcess(name, 0); Runs(in, &p) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := runs(); got != "app worker" {
		t.Errorf("running containers: got %q, want %q", got, "app worker")
	}
	status := &in.Status
	in.Spec.InitContainers = slices.Clone(in.Spec.Containers[1:])
	in.Spec.Containers = in.Spec.Containers[:1]
	status.InitContainerStatuses = slices.Clone(status.ContainerStatuses[1:])
	status.ContainerStatuses = status.ContainerStatuses[:1]
	if got := runs(); got != "app worker" {
		t.Errorf("running containers with a sidecar: got %q, want %q", got, "app worker")
	}
	status.ContainerStatuses[0].ContainerID = "containerd://another"
	if got := runs(); got != "worker" {
		t.Errorf("running containers after app was replaced: got %q, want %q", got, "worker")
	}
	status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	if got := runs(); got != "" {
		t.Errorf("running containers when all ended: got %q, want none", got)
	}
}

// Processes that have, or may have, the operator's agent.
func TestMayHaveAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		want    bool
	}{
		"nothing was done":                          {v1alpha1.JavaProcess{}, false},
		"files were staged":                         {v1alpha1.JavaProcess{Staged: &v1alpha1.StagedFiles{}}, false},
		"a load began":                              {v1alpha1.JavaProcess{Intent: &v1alpha1.LoadIntent{}}, true},
		"an agent was found":                        {v1alpha1.JavaProcess{AgentFound: true}, true},
		"an agent was found in an excluded process": {v1alpha1.JavaProcess{AgentFound: true, Excluded: true}, true},
		"the stock exporter is adopted":             {v1alpha1.JavaProcess{Intent: &v1alpha1.LoadIntent{}, Adopted: true}, false},
	} {
		if got := MayHaveAgent(&tc.process); got != tc.want {
			t.Errorf("%s: MayHaveAgent: got %t, want %t", name, got, tc.want)
		}
	}
}

// The primary process first, then the others by container, then those that need a person,
// and excluded ones last.
func TestSort(t *testing.T) {
	r := of(
		with(aProcess("a", 0), excluded),
		failing("b", v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar),
		aProcess("c", 0),
		with(aProcess("d", 0), func(p *v1alpha1.JavaProcess) { p.Primary = true }),
		failing("e", v1alpha1.PhaseStaged, v1alpha1.ReasonConfigRejected),
	)
	var running []pod.Container
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		running = append(running, pod.Container{Name: name})
	}
	r.Sort(running)
	var got []string
	for _, p := range r.Status().Processes {
		got = append(got, p.Container)
	}
	if order := strings.Join(got, " "); order != "d c e b a" {
		t.Errorf("order: got %q, want %q", order, "d c e b a")
	}
}
