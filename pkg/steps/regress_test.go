package steps

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// because returns the cause of a reason.
func because(reason string) *Cause {
	i := slices.IndexFunc(Causes(), func(c Cause) bool { return c.Reason == reason })
	return &Causes()[i]
}

func reasonOfCause(c *Cause) string {
	if c == nil {
		return ""
	}
	return c.Reason
}

// The cause for which the recorded state of a JVM no longer holds; empty if it holds.
func TestRegressJVM(t *testing.T) {
	process := func(change func(*v1alpha1.JavaProcess)) func(*scene) {
		return func(s *scene) { change(&s.Status().Processes[0]) }
	}
	health := func(h Health) func(*scene) {
		return func(s *scene) {
			s.EndpointHealth = map[record.ProcessIdentity]Health{record.Identity(s.jvm().Process): h}
		}
	}
	newConfig := func(s *scene) { s.Config.Blob = blob("new") }
	newPort := func(s *scene) { s.Exporter.Spec.Port = 9500 }
	notGranted := func(s *scene) { s.Granted = false }
	broken := func(s *scene) { s.Config = Input{Problem: &Problem{Reason: v1alpha1.ReasonConfigNotYAML}} }
	adopted := process(func(p *v1alpha1.JavaProcess) {
		p.Adopted, p.Primary, p.Staged, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = true, false, nil, nil, "", ""
	})
	for name, tc := range map[string]struct {
		how  []func(*scene)
		want string
	}{
		"everything holds":            {},
		"the configuration changed":   {[]func(*scene){newConfig}, v1alpha1.ReasonConfigChanged},
		"the agent changed":           {[]func(*scene){func(s *scene) { s.Artifacts.Agent = blob("new") }}, v1alpha1.ReasonConfigChanged},
		"the implementation changed":  {[]func(*scene){func(s *scene) { s.Artifacts.Implementation = blob("new") }}, v1alpha1.ReasonConfigChanged},
		"the exporter's port changed": {[]func(*scene){newPort}, v1alpha1.ReasonAgentChanged},
		"the exporter's port changed for a process that is not primary": {[]func(*scene){newPort, process(func(p *v1alpha1.JavaProcess) { p.Primary = false })}, ""},
		"the outcome of a load with something else is unknown":          {[]func(*scene){process(func(p *v1alpha1.JavaProcess) { p.Intent.ConfigSHA256 = blob("new").SHA256 })}, v1alpha1.ReasonAgentChanged},
		"everything changed, and is not granted":                        {[]func(*scene){newConfig, newPort, notGranted}, ""},
		"the configuration is invalid":                                  {[]func(*scene){broken}, ""},
		"the configuration is invalid, and not granted":                 {[]func(*scene){broken, notGranted}, ""},
		"the files were removed":                                        {[]func(*scene){process(func(p *v1alpha1.JavaProcess) { p.Staged = nil })}, v1alpha1.ReasonConfigChanged},
		"the agent serves something else":                               {[]func(*scene){process(func(p *v1alpha1.JavaProcess) { p.ConfigSHA256 = "x" })}, v1alpha1.ReasonAgentChanged},
		"the agent stopped":                                             {[]func(*scene){health(Health{Finding: FindingStopped, Misses: 1})}, v1alpha1.ReasonAgentGone},
		"the agent stopped, and nothing is granted":                     {[]func(*scene){health(Health{Finding: FindingStopped, Misses: 1}), notGranted}, v1alpha1.ReasonAgentGone},
		"a foreign process has the port":                                {[]func(*scene){health(Health{Finding: FindingServing, Foreign: true, Misses: 1})}, v1alpha1.ReasonEndpointForeign},
		"the agent serves behind a NetworkPolicy":                       {[]func(*scene){health(Health{Finding: FindingServing, Misses: 9})}, ""},
		"the finding is unclear":                                        {[]func(*scene){health(Health{Finding: FindingUnclear, Foreign: true, Misses: 9})}, ""},
		"the endpoint has been silent for a short time":                 {[]func(*scene){health(Health{Finding: FindingSilent, Misses: silentMisses - 1})}, ""},
		"the endpoint has been silent for a long time":                  {[]func(*scene){health(Health{Finding: FindingSilent, Misses: silentMisses})}, v1alpha1.ReasonEndpointSilent},
		"the endpoint is recorded as silent":                            {[]func(*scene){process(func(p *v1alpha1.JavaProcess) { p.Endpoint = new(*p.Endpoint); p.Endpoint.Silent = true })}, v1alpha1.ReasonEndpointSilent},
		"the endpoint is not in an EndpointSlice":                       {[]func(*scene){func(s *scene) { s.Published = nil }}, v1alpha1.ReasonEndpointLost},
		"the pod's address changed":                                     {[]func(*scene){func(s *scene) { s.Pod.Status.PodIP = "10.0.0.9" }}, v1alpha1.ReasonEndpointMoved},
		"the agent's port changed":                                      {[]func(*scene){process(func(p *v1alpha1.JavaProcess) { p.Port, p.Primary, p.Intent.Port = 9404, false, 0 })}, v1alpha1.ReasonEndpointMoved},
		"the endpoint is silent, and not in an EndpointSlice":           {[]func(*scene){health(Health{Finding: FindingSilent, Misses: silentMisses}), func(s *scene) { s.Published = nil }}, v1alpha1.ReasonEndpointSilent},
		"the process is adopted":                                        {[]func(*scene){adopted}, ""},
		"the process is adopted, and the configuration changed":         {[]func(*scene){adopted, newConfig, newPort}, ""},
		"the process is adopted, and its agent stopped":                 {[]func(*scene){adopted, health(Health{Finding: FindingStopped})}, ""},
		"the process is adopted, and its endpoint is silent":            {[]func(*scene){adopted, health(Health{Finding: FindingSilent, Misses: silentMisses})}, v1alpha1.ReasonEndpointSilent},
	} {
		s := aSituation(serving("app", 9400)).published()
		for _, how := range tc.how {
			how(s)
		}
		before := s.Status().DeepCopy()
		if got := reasonOfCause(s.jvm().cause()); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if diff := cmp.Diff(before, s.Status()); diff != "" {
			t.Errorf("%s: cause changed the status (-before +after):\n%s", name, diff)
		}
	}
}

// The causes for which the pod's own phases no longer hold.
func TestRegressPod(t *testing.T) {
	us := string(records.OwnerPodAnnotations)
	for name, tc := range map[string]struct {
		how  func(*scene)
		want string
	}{
		"everything holds":              {func(*scene) {}, ""},
		"nothing was inspected":         {func(s *scene) { s.Status().Containers = nil }, v1alpha1.ReasonReplaced},
		"the JVM is gone":               {func(s *scene) { s.Status().Processes = nil }, v1alpha1.ReasonReplaced},
		"the JVM is excluded":           {func(s *scene) { excluded(&s.Status().Processes[0]) }, v1alpha1.ReasonReplaced},
		"the JVM cannot be attached to": {func(s *scene) { s.Status().Processes[0].Phase = v1alpha1.PhaseDiscovered }, v1alpha1.ReasonReplaced},
		"the JVM refuses in a later phase": {func(s *scene) {
			p := &s.Status().Processes[0]
			p.Phase, p.Reason = v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar
		}, ""},
		"the annotations were removed":             {func(s *scene) { s.Pod.Annotations, s.Pod.ManagedFields = nil, nil }, v1alpha1.ReasonAnnotationLost},
		"the annotations name another port":        {func(s *scene) { s.annotatedBy(us, "9404") }, v1alpha1.ReasonAnnotationLost},
		"another manager owns the annotations":     {func(s *scene) { s.annotatedBy("helm", "9400") }, v1alpha1.ReasonAnnotationLost},
		"the configuration is invalid":             {func(s *scene) { s.Config = Input{Problem: &Problem{}}; s.Granted = false }, ""},
		"a sibling regresses":                      {func(s *scene) { s.Status().Processes = append(s.Status().Processes, aProcess("worker", 0)) }, ""},
		"the JVM regresses without being replaced": {func(s *scene) { s.Status().Processes[0].Phase = v1alpha1.PhaseJavaFound }, ""},
	} {
		s := aSituation(serving("app", 9400)).published().inspectedWell().annotatedBy(us, "9400")
		tc.how(s)
		if got := reasonOfCause(s.cause()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Each cause is a way back of the plan, and a reason of the API with a message.
func TestCauses(t *testing.T) {
	for _, cause := range Causes() {
		state := statemachine.State{Phase: Annotated}
		if changed, err := Plan.Regress(&state, cause.Cause); err != nil || !changed {
			t.Errorf("%s: changed %t, %v", cause.Reason, changed, err)
		}
		if !v1alpha1.Known(cause.Reason) || cause.Message == "" {
			t.Errorf("the reason is unknown, or the message empty: %+v", cause)
		}
		// Different causes have different messages, and no message names two causes.
		if slices := strings.Contains(cause.Message, "EndpointSlice"); slices != (cause.Reason == v1alpha1.ReasonEndpointLost) {
			t.Errorf("message of %s: only EndpointLost mentions an EndpointSlice: %s", cause.Reason, cause.Message)
		}
		if strings.Contains(cause.Message, "endpoint") && strings.Contains(cause.Message, " or ") {
			t.Errorf("message of %s names two causes: %s", cause.Reason, cause.Message)
		}
	}
}

// A cause removes from the status what it has disproved, and nothing else.
func TestForget(t *testing.T) {
	unserved := func(p *v1alpha1.JavaProcess) { p.ConfigSHA256, p.ImplementationSHA256 = "", "" }
	for reason, want := range map[string]func(*v1alpha1.JavaProcess){
		v1alpha1.ReasonAgentGone: unserved, v1alpha1.ReasonEndpointForeign: unserved,
		v1alpha1.ReasonEndpointSilent: func(p *v1alpha1.JavaProcess) { p.Endpoint.Silent = true },
		v1alpha1.ReasonEndpointLost:   func(*v1alpha1.JavaProcess) {},
		v1alpha1.ReasonConfigChanged:  func(*v1alpha1.JavaProcess) {},
	} {
		s, expected := aSituation(serving("app", 9400)), serving("app", 9400)
		want(&expected)
		if disproves := because(reason).disproves; disproves != nil {
			disproves(s.jvm().Process)
		}
		if diff := cmp.Diff(&expected, s.jvm().Process); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
