package steps

import (
	"context"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// A JVM that would warn of a load is refused when it is found, so that another process becomes
// primary, but only if the exporter requires that; a JVM with an agent is kept.
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
		"the policy is not set":                                  {primary: "a"},
		"the policy is Allow":                                    {policy: v1alpha1.DynamicAgentLoadingAllow, primary: "a"},
		"the policy is RefuseOnWarning":                          {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, want: v1alpha1.ReasonAgentLoadingWarns, primary: "b"},
		"the policy is RefuseOnWarning, and an agent runs":       {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, mark: isRunning, primary: "a"},
		"the policy is RefuseOnWarning, and an agent is stopped": {policy: v1alpha1.DynamicAgentLoadingRefuseOnWarning, mark: isStopped, want: v1alpha1.ReasonAgentLoadingWarns, primary: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.runs("b")
			s.Exporter.Spec.DynamicAgentLoading = tc.policy
			s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": found(true, tc.mark), "b inspect": found(false, nil)}}
			if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != "" {
				t.Fatalf("reason: got %q, want none", got.Reason)
			}
			for _, p := range s.Status().Processes {
				want := ""
				if p.Container == "a" {
					want = tc.want
				}
				if p.Reason != want || p.Primary != (p.Container == tc.primary) || p.LoadWarns != (p.Container == "a") {
					t.Errorf("process in container %s: got %+v", p.Container, p)
				}
			}
			before := s.Key()
			s.Exporter.Spec.DynamicAgentLoading = v1alpha1.DynamicAgentLoadingAllow
			if changed := s.Key() != before; changed != (tc.policy == v1alpha1.DynamicAgentLoadingRefuseOnWarning) {
				t.Errorf("key changed with the policy Allow: got %t", changed)
			}
		})
	}
}

// The request contains the exporter's policy: the helper sees the JVM before it loads the
// agent.
func TestLoadRefusesOnWarning(t *testing.T) {
	for _, policy := range []v1alpha1.DynamicAgentLoading{"", v1alpha1.DynamicAgentLoadingAllow, v1alpha1.DynamicAgentLoadingRefuseOnWarning} {
		s := aSituation(aProcess("a", 0))
		s.Exporter.Spec.DynamicAgentLoading = policy
		refuses := false
		s.Helper = helperFunc(func(_ context.Context, _ transport.Container, _ helperapi.Verb, request helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
			refuses = request.RefuseOnWarning
			return says(v1alpha1.ReasonAgentLoadingWarns)()
		})
		if got := (Load{s.Tools}).Ensure(t.Context(), s.jvm()); got.Reason != v1alpha1.ReasonAgentLoadingWarns {
			t.Errorf("reason: got %q, want AgentLoadingWarns", got.Reason)
		} else if !strings.Contains(got.Message, "spec.atNextStart") {
			t.Errorf("message does not name spec.atNextStart: %q", got.Message)
		}
		if refuses != (policy == v1alpha1.DynamicAgentLoadingRefuseOnWarning) {
			t.Errorf("policy %q: refusal requested: got %t", policy, refuses)
		}
	}
}
