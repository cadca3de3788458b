package steps

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The free memory at the inspection is compared with the demand of a first load.
func TestPreflightMemory(t *testing.T) {
	free := func(quantity string) func(*v1alpha1.JavaProcess) {
		return func(p *v1alpha1.JavaProcess) { p.FreeMemory = new(resource.MustParse(quantity)) }
	}
	shared := &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}}
	for name, tc := range map[string]struct {
		headroom string
		pod      *corev1.ResourceRequirements
		process  func(*v1alpha1.JavaProcess)
		want     string
	}{
		"there is no limit":                      {process: func(*v1alpha1.JavaProcess) {}, want: v1alpha1.ReasonPreflight},
		"memory suffices":                        {process: free("104Mi"), want: v1alpha1.ReasonPreflight},
		"memory is too low":                      {process: free("32Mi"), want: v1alpha1.ReasonInsufficientMemory},
		"memory suffices without the files only": {process: free("96Mi"), want: v1alpha1.ReasonInsufficientMemory},
		"no memory is free":                      {process: free("0"), want: v1alpha1.ReasonInsufficientMemory},
		"memory suffices for a smaller headroom": {headroom: "16Mi", process: free("32Mi"), want: v1alpha1.ReasonPreflight},
		"others may use the pod's memory":        {pod: shared, process: free("3Gi"), want: v1alpha1.ReasonInsufficientMemory},
		"others may, and the headroom is 0":      {pod: shared, headroom: "0", process: free("3Gi"), want: v1alpha1.ReasonPreflight},
		"the headroom is 0":                      {headroom: "0", process: free("0"), want: v1alpha1.ReasonPreflight},
		"the agent is loaded":                    {process: func(p *v1alpha1.JavaProcess) { free("0")(p); p.AgentFound = true }, want: v1alpha1.ReasonPreflight},
		"the stock exporter is adopted":          {process: func(p *v1alpha1.JavaProcess) { free("0")(p); p.Adopted = true }, want: v1alpha1.ReasonPreflight},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(with(aProcess("a", 0), tc.process))
			if tc.pod != nil {
				s.Pod.Spec.Resources = tc.pod
				s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: "without-limit"})
			}
			if tc.headroom != "" {
				s.Exporter.Spec.MemoryHeadroom = new(resource.MustParse(tc.headroom))
			}
			got := s.jvm().preflight()
			if got.Reason != tc.want || !got.Kind.AwaitsEvent() || !strings.HasSuffix(got.Message, ".") {
				t.Errorf("got %+v, want reason %s", got, tc.want)
			}
			if short := tc.want == v1alpha1.ReasonInsufficientMemory; (got.Kind == statemachine.Broken) != short {
				t.Errorf("kind of the outcome: got %d", got.Kind)
			}
		})
	}
}

// Free memory is rounded down, and clamped: a container may report anything.
func TestFreeMemory(t *testing.T) {
	for free, want := range map[int64]string{-1: "0", 0: "0", 8<<20 - 1: "0", 8 << 20: "8Mi", 100 << 20: "96Mi", 3 << 30: "3Gi"} {
		if got := freeMemory(&helperapi.Memory{Free: free}, nil); got.String() != want {
			t.Errorf("freeMemory(%d): got %s, want %s", free, got, want)
		}
	}
	const mib = 1 << 20
	shared := &helperapi.PodMemory{Limit: 256 * mib, Others: 100 * mib}
	for limit, want := range map[int64]string{256: "56Mi", 120: "16Mi"} { // of which 100 are used
		if got := freeMemory(&helperapi.Memory{Limit: limit * mib, Free: (limit - 100) * mib}, shared); got.String() != want {
			t.Errorf("freeMemory beside others, below %d MiB: got %s, want %s", limit, got, want)
		}
	}
	if got := freeMemory(nil, nil); got != nil {
		t.Errorf("freeMemory without a limit: got %s, want none", got)
	}
}

// The condition contains the warning that a load would print to the application's output.
func TestPreflightTellsOfWarning(t *testing.T) {
	s := aSituation(with(aProcess("a", 0), func(p *v1alpha1.JavaProcess) { p.LoadWarns = true }))
	if got := s.jvm().preflight(); !strings.Contains(got.Message, "JEP 451") {
		t.Errorf("message does not mention JEP 451: %q", got.Message)
	}
}

// Only a process that was inspected and never attached to is detached without an unload.
func TestUntouched(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(*scene)
		want bool
	}{
		"the process was inspected only":       {how: func(*scene) {}, want: true},
		"the helper was left in the container": {how: func(s *scene) { s.Status().Containers[0].HelperRemoved = false }},
		"the container was replaced":           {how: func(s *scene) { s.Status().Containers[0].ContainerID = "other" }},
		"the pod has a slot":                   {how: func(s *scene) { s.Attachment.Spec.Revision = "r" }},
		"the pod had a slot by its status":     {how: func(s *scene) { s.Status().Revision = "r" }},
		"the agent is loaded":                  {how: func(s *scene) { s.jvm().Process.AgentFound = true }},
		"files are staged":                     {how: func(s *scene) { s.jvm().Process.Staged = &v1alpha1.StagedFiles{} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(aProcess("a", 0)).inspectedWell()
			s.Status().Containers[0].HelperRemoved = true
			tc.how(s)
			helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a unload": sees()}}
			s.Helper = helper
			if got := (Load{s.Tools}).Undo(t.Context(), s.jvm()); got.Kind != statemachine.Done {
				t.Errorf("got %+v, want Done", got)
			}
			if untouched := len(helper.ran) == 0; untouched != tc.want {
				t.Errorf("helper operations: got %q", helper.ran)
			}
		})
	}
}
