package steps

import (
	"context"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// A JVM that warns of a load is refused when it is found, so that the primary one is
// another, and only where the exporter says so; one with an agent is kept.
func TestRefuseOnWarning(t *testing.T) {
	found := func(warns bool, mark *helperapi.Mark) func() (*helperapi.Report, error) {
		return sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot", LoadWarns: warns, Mark: mark, AgentJarOpen: mark != nil})
	}
	for name, tc := range map[string]struct {
		policy  v1alpha1.DynamicAgentLoading
		mark    *helperapi.Mark
		want    string
		primary string
	}{
		"nothing is said":       {primary: "a"},
		"allowed":               {policy: v1alpha1.DynamicAgentLoadingAllow, primary: "a"},
		"refused":               {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, want: v1alpha1.ReasonAgentLoadingWarns, primary: "b"},
		"an agent is there":     {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, mark: isRunning, primary: "a"},
		"an agent that stopped": {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, mark: isStopped, want: v1alpha1.ReasonAgentLoadingWarns, primary: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope()
			s.runs("a")
			s.runs("b")
			s.Exporter.Spec.DynamicAgentLoading = tc.policy
			s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": found(true, tc.mark), "b inspect": found(false, nil)}}
			if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != "" {
				t.Fatalf("it comes to %q", got.Reason)
			}
			for _, p := range s.Status().Processes {
				want := ""
				if p.Container == "a" {
					want = tc.want
				}
				if p.Reason != want || p.Primary != (p.Container == tc.primary) || p.LoadWarns != (p.Container == "a") {
					t.Errorf("the process in %s is %+v", p.Container, p)
				}
			}
			before := s.Key()
			s.Exporter.Spec.DynamicAgentLoading = v1alpha1.DynamicAgentLoadingAllow
			if changed := s.Key() != before; changed != (tc.policy == v1alpha1.DynamicAgentLoadingRefuseOnWarning) {
				t.Errorf("that it is allowed has it tried again: %t", changed)
			}
		})
	}
}

// The request says what the exporter does not accept: the helper sees the JVM that it is
// about to load into.
func TestLoadRefusesOnWarning(t *testing.T) {
	for _, policy := range []v1alpha1.DynamicAgentLoading{"", v1alpha1.DynamicAgentLoadingAllow, v1alpha1.DynamicAgentLoadingRefuseOnWarning} {
		s := aScope(aProcess("a", 0))
		s.Exporter.Spec.DynamicAgentLoading = policy
		refuses := false
		s.Helper = helperFunc(func(_ context.Context, _ transport.Container, _ helperapi.Verb, request helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
			refuses = request.RefuseOnWarning
			return says(v1alpha1.ReasonAgentLoadingWarns)()
		})
		if got := (Load{}).Ensure(t.Context(), s.jvm()); got.Reason != v1alpha1.ReasonAgentLoadingWarns {
			t.Errorf("it comes to %q", got.Reason)
		}
		if refuses != (policy == v1alpha1.DynamicAgentLoadingRefuseOnWarning) {
			t.Errorf("with %q, the helper refuses: %t", policy, refuses)
		}
	}
}
