package steps

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Of a pod's containers those run that the kubelet says run; a sidecar is one.
func TestRuns(t *testing.T) {
	s := aScope(aProcess("app", 0), aProcess("worker", 0))
	runs := func() string {
		var names []string
		for _, name := range []string{"app", "worker"} {
			if p := aProcess(name, 0); Runs(s.Pod, &p) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := runs(); got != "app worker" {
		t.Errorf("%q run", got)
	}
	status := &s.Pod.Status
	s.Pod.Spec.InitContainers = slices.Clone(s.Pod.Spec.Containers[1:])
	s.Pod.Spec.Containers = s.Pod.Spec.Containers[:1]
	status.InitContainerStatuses = slices.Clone(status.ContainerStatuses[1:])
	status.ContainerStatuses = status.ContainerStatuses[:1]
	if got := runs(); got != "app worker" {
		t.Errorf("with a sidecar, %q run", got)
	}
	status.ContainerStatuses[0].ContainerID = "containerd://another"
	if got := runs(); got != "worker" {
		t.Errorf("with app replaced, %q run", got)
	}
	status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	if got := runs(); got != "" {
		t.Errorf("with none running, %q run", got)
	}
}

// Which processes have an agent of ours, or may have one.
func TestMayHaveAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		want    bool
	}{
		"nothing was done":              {v1alpha1.JavaProcess{}, false},
		"it was staged only":            {v1alpha1.JavaProcess{Staged: &v1alpha1.StagedFiles{}}, false},
		"its load was begun":            {v1alpha1.JavaProcess{Intent: &v1alpha1.LoadIntent{}}, true},
		"an agent was found":            {v1alpha1.JavaProcess{AgentFound: true}, true},
		"it is left out, and was found": {v1alpha1.JavaProcess{AgentFound: true, Excluded: true}, true},
		"the stock exporter is in it":   {v1alpha1.JavaProcess{Intent: &v1alpha1.LoadIntent{}, Adopted: true}, false},
	} {
		if got := MayHaveAgent(&tc.process); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Primary first, then the others by their containers, those that need a person
// behind them, those that are left out last.
func TestSort(t *testing.T) {
	s := aScope(
		with(aProcess("a", 0), excluded),
		failing("b", v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar),
		aProcess("c", 0),
		with(aProcess("d", 0), func(p *v1alpha1.JavaProcess) { p.Primary = true }),
		failing("e", v1alpha1.PhaseStaged, v1alpha1.ReasonConfigRejected),
	)
	s.sort()
	var got []string
	for _, p := range s.Status().Processes {
		got = append(got, p.Container)
	}
	if order := strings.Join(got, " "); order != "d c e b a" {
		t.Errorf("the order is %s", order)
	}
}
