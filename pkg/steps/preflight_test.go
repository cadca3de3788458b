package steps

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// What was free when a JVM was inspected is judged by what a first load asks for.
func TestPreflightMemory(t *testing.T) {
	free := func(quantity string) func(*v1alpha1.JavaProcess) {
		return func(p *v1alpha1.JavaProcess) { p.FreeMemory = new(resource.MustParse(quantity)) }
	}
	for name, tc := range map[string]struct {
		headroom string
		process  func(*v1alpha1.JavaProcess)
		want     string
	}{
		"no limit":               {process: func(*v1alpha1.JavaProcess) {}, want: v1alpha1.ReasonPreflight},
		"enough":                 {process: free("104Mi"), want: v1alpha1.ReasonPreflight},
		"too little":             {process: free("32Mi"), want: v1alpha1.ReasonInsufficientMemory},
		"not for the files, too": {process: free("96Mi"), want: v1alpha1.ReasonInsufficientMemory},
		"nothing":                {process: free("0"), want: v1alpha1.ReasonInsufficientMemory},
		"less is asked for":      {headroom: "16Mi", process: free("32Mi"), want: v1alpha1.ReasonPreflight},
		"nothing is asked for":   {headroom: "0", process: free("0"), want: v1alpha1.ReasonPreflight},
		"an agent is there":      {process: func(p *v1alpha1.JavaProcess) { free("0")(p); p.AgentFound = true }, want: v1alpha1.ReasonPreflight},
		"the stock exporter is":  {process: func(p *v1alpha1.JavaProcess) { free("0")(p); p.Adopted = true }, want: v1alpha1.ReasonPreflight},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope(with(aProcess("a", 0), tc.process))
			if tc.headroom != "" {
				s.Exporter.Spec.MemoryHeadroom = new(resource.MustParse(tc.headroom))
			}
			got := s.jvm().Preflight()
			if got.Reason != tc.want || !got.Kind.AwaitsEvent() || !strings.HasSuffix(got.Message, ".") {
				t.Errorf("it comes to %+v", got)
			}
			if short := tc.want == v1alpha1.ReasonInsufficientMemory; (got.Kind == statemachine.Broken) != short {
				t.Errorf("its kind is %d", got.Kind)
			}
		})
	}
}

// Free memory is rounded down, and bounded: a container may say anything.
func TestFreeMemory(t *testing.T) {
	for free, want := range map[int64]string{-1: "0", 0: "0", 8<<20 - 1: "0", 8 << 20: "8Mi", 100 << 20: "96Mi", 3 << 30: "3Gi"} {
		if got := freeMemory(&helperapi.Memory{Free: free}); got.String() != want {
			t.Errorf("of %d it keeps %s, not %s", free, got, want)
		}
	}
	if got := freeMemory(nil); got != nil {
		t.Errorf("without a limit it keeps %s", got)
	}
}

// The condition says what a load would leave on the application's output.
func TestPreflightTellsOfWarning(t *testing.T) {
	s := aScope(with(aProcess("a", 0), func(p *v1alpha1.JavaProcess) { p.LoadWarns = true }))
	if got := s.jvm().Preflight(); !strings.Contains(got.Message, "JEP 451") {
		t.Errorf("it says %q", got.Message)
	}
}

// Only what was inspected and never attached to is left without an unload.
func TestUntouched(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(*Scope)
		want bool
	}{
		"inspected only":            {how: func(*Scope) {}, want: true},
		"the helper was left":       {how: func(s *Scope) { s.Status().Containers[0].HelperRemoved = false }},
		"another container":         {how: func(s *Scope) { s.Status().Containers[0].ContainerID = "other" }},
		"granted":                   {how: func(s *Scope) { s.Attachment.Spec.Revision = "r" }},
		"granted by another record": {how: func(s *Scope) { s.Status().Revision = "r" }},
		"an agent is there":         {how: func(s *Scope) { s.jvm().Process.AgentFound = true }},
		"files are":                 {how: func(s *Scope) { s.jvm().Process.Staged = &v1alpha1.StagedFiles{} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope(aProcess("a", 0)).inspectedWell()
			s.Status().Containers[0].HelperRemoved = true
			tc.how(s)
			helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a unload": sees()}}
			s.Helper = helper
			if got := (Load{}).Undo(t.Context(), s.jvm()); got.Kind != statemachine.Done {
				t.Errorf("it comes to %+v", got)
			}
			if untouched := len(helper.ran) == 0; untouched != tc.want {
				t.Errorf("run was %q", helper.ran)
			}
		})
	}
}
