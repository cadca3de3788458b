package steps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

func reasonOfCause(c *statemachine.Cause) string {
	if c == nil {
		return ""
	}
	return c.Reason
}

// Why what the record says of a JVM no longer holds; nothing, where it does.
func TestRegressJVM(t *testing.T) {
	process := func(change func(*v1alpha1.JavaProcess)) func(*Scope) {
		return func(s *Scope) { change(&s.Status().Processes[0]) }
	}
	health := func(h Health) func(*Scope) {
		return func(s *Scope) { s.Health = map[ProcessIdentity]Health{Identity(s.jvm().Process): h} }
	}
	newConfig := func(s *Scope) { s.Config.Blob = blob("new") }
	newPort := func(s *Scope) { s.Exporter.Spec.Port = 9500 }
	notGranted := func(s *Scope) { s.Granted = false }
	broken := func(s *Scope) { s.Config = Input{Problem: &Problem{Reason: v1alpha1.ReasonConfigNotYAML}} }
	adopted := process(func(p *v1alpha1.JavaProcess) {
		p.Adopted, p.Primary, p.Staged, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = true, false, nil, nil, "", ""
	})
	for name, tc := range map[string]struct {
		how  []func(*Scope)
		want string
	}{
		"all holds":                     {},
		"another configuration":         {[]func(*Scope){newConfig}, v1alpha1.ReasonConfigChanged},
		"another agent":                 {[]func(*Scope){func(s *Scope) { s.Artifacts.Agent = blob("new") }}, v1alpha1.ReasonConfigChanged},
		"another implementation":        {[]func(*Scope){func(s *Scope) { s.Artifacts.Implementation = blob("new") }}, v1alpha1.ReasonConfigChanged},
		"another port":                  {[]func(*Scope){newPort}, v1alpha1.ReasonAgentChanged},
		"another port, of no primary":   {[]func(*Scope){newPort, process(func(p *v1alpha1.JavaProcess) { p.Primary = false })}, ""},
		"all new, but not granted":      {[]func(*Scope){newConfig, newPort, notGranted}, ""},
		"a broken configuration":        {[]func(*Scope){broken}, ""},
		"broken, and not granted":       {[]func(*Scope){broken, notGranted}, ""},
		"the files went":                {[]func(*Scope){process(func(p *v1alpha1.JavaProcess) { p.Staged = nil })}, v1alpha1.ReasonConfigChanged},
		"the agent serves something":    {[]func(*Scope){process(func(p *v1alpha1.JavaProcess) { p.ConfigSHA256 = "x" })}, v1alpha1.ReasonAgentChanged},
		"the agent stopped":             {[]func(*Scope){health(Health{Finding: FindingStopped, Misses: 1})}, v1alpha1.ReasonAgentGone},
		"… while not granted":           {[]func(*Scope){health(Health{Finding: FindingStopped, Misses: 1}), notGranted}, v1alpha1.ReasonAgentGone},
		"another process has the port":  {[]func(*Scope){health(Health{Finding: FindingServing, Foreign: true, Misses: 1})}, v1alpha1.ReasonEndpointForeign},
		"it serves, behind a policy":    {[]func(*Scope){health(Health{Finding: FindingServing, Misses: 9})}, ""},
		"nothing can be said":           {[]func(*Scope){health(Health{Finding: FindingUnclear, Foreign: true, Misses: 9})}, ""},
		"silent, not for long":          {[]func(*Scope){health(Health{Finding: FindingSilent, Misses: silentMisses - 1})}, ""},
		"silent for long":               {[]func(*Scope){health(Health{Finding: FindingSilent, Misses: silentMisses})}, v1alpha1.ReasonEndpointSilent},
		"silent since then":             {[]func(*Scope){process(func(p *v1alpha1.JavaProcess) { p.Endpoint = new(*p.Endpoint); p.Endpoint.Silent = true })}, v1alpha1.ReasonEndpointSilent},
		"not in an EndpointSlice":       {[]func(*Scope){func(s *Scope) { s.Published = nil }}, v1alpha1.ReasonEndpointLost},
		"at another address":            {[]func(*Scope){func(s *Scope) { s.Pod.Status.PodIP = "10.0.0.9" }}, v1alpha1.ReasonEndpointMoved},
		"at another port":               {[]func(*Scope){process(func(p *v1alpha1.JavaProcess) { p.Port, p.Primary = 9404, false })}, v1alpha1.ReasonEndpointMoved},
		"silent, and not in a slice":    {[]func(*Scope){health(Health{Finding: FindingSilent, Misses: silentMisses}), func(s *Scope) { s.Published = nil }}, v1alpha1.ReasonEndpointSilent},
		"adopted":                       {[]func(*Scope){adopted}, ""},
		"adopted, another config":       {[]func(*Scope){adopted, newConfig, newPort}, ""},
		"adopted, whatever is in there": {[]func(*Scope){adopted, health(Health{Finding: FindingStopped})}, ""},
		"adopted and silent":            {[]func(*Scope){adopted, health(Health{Finding: FindingSilent, Misses: silentMisses})}, v1alpha1.ReasonEndpointSilent},
	} {
		s := aScope(serving("app", 9400)).published()
		for _, how := range tc.how {
			how(s)
		}
		before := s.Status().DeepCopy()
		if got := reasonOfCause(s.jvm().Regress()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if diff := cmp.Diff(before, s.Status()); diff != "" {
			t.Errorf("%s: it changed the record (-before +after):\n%s", name, diff)
		}
	}
}

// Why the pod's own phases no longer hold.
func TestRegressPod(t *testing.T) {
	us := string(records.OwnerPodAnnotations)
	for name, tc := range map[string]struct {
		how  func(*Scope)
		want string
	}{
		"all holds":                     {func(*Scope) {}, ""},
		"nothing was inspected":         {func(s *Scope) { s.Status().Containers = nil }, v1alpha1.ReasonReplaced},
		"its JVM is gone":               {func(s *Scope) { s.Status().Processes = nil }, v1alpha1.ReasonReplaced},
		"its JVM is left out":           {func(s *Scope) { excluded(&s.Status().Processes[0]) }, v1alpha1.ReasonReplaced},
		"its JVM cannot be attached to": {func(s *Scope) { s.Status().Processes[0].Phase = v1alpha1.PhaseDiscovered }, v1alpha1.ReasonReplaced},
		"its JVM refuses in a later phase": {func(s *Scope) {
			p := &s.Status().Processes[0]
			p.Phase, p.Reason = v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar
		}, ""},
		"the annotations are gone":         {func(s *Scope) { s.Pod.Annotations, s.Pod.ManagedFields = nil, nil }, v1alpha1.ReasonAnnotationLost},
		"another port is annotated":        {func(s *Scope) { s.annotatedBy(us, "9404") }, v1alpha1.ReasonAnnotationLost},
		"somebody else annotates it":       {func(s *Scope) { s.annotatedBy("helm", "9400") }, v1alpha1.ReasonAnnotationLost},
		"the configuration is broken":      {func(s *Scope) { s.Config = Input{Problem: &Problem{}}; s.Granted = false }, ""},
		"a sibling is going back":          {func(s *Scope) { s.Status().Processes = append(s.Status().Processes, aProcess("worker", 0)) }, ""},
		"its JVM is going back, and stays": {func(s *Scope) { s.Status().Processes[0].Phase = v1alpha1.PhaseJavaFound }, ""},
	} {
		s := aScope(serving("app", 9400)).published().inspectedWell().annotatedBy(us, "9400")
		tc.how(s)
		if got := reasonOfCause(s.Regress()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Each cause is a way of the plan, and a reason of the API with a sentence.
func TestCauses(t *testing.T) {
	for _, cause := range Causes {
		state := statemachine.State{Phase: Annotated}
		if changed, err := Plan.Regress(&state, cause); err != nil || !changed {
			t.Errorf("%s: changed %t, %v", cause.Reason, changed, err)
		}
		if !v1alpha1.Known(cause.Reason) || cause.Message == "" {
			t.Errorf("%+v", cause)
		}
		// Two causes have two messages, and none of them names another cause.
		if slices := strings.Contains(cause.Message, "EndpointSlice"); slices != (cause.Reason == v1alpha1.ReasonEndpointLost) {
			t.Errorf("%s: %s", cause.Reason, cause.Message)
		}
		if strings.Contains(cause.Message, "endpoint") && strings.Contains(cause.Message, " or ") {
			t.Errorf("%s names two causes: %s", cause.Reason, cause.Message)
		}
	}
}

// A cause drops from the record what it has proven wrong, and nothing else.
func TestForget(t *testing.T) {
	unserved := func(p *v1alpha1.JavaProcess) { p.ConfigSHA256, p.ImplementationSHA256 = "", "" }
	for reason, want := range map[string]func(*v1alpha1.JavaProcess){
		v1alpha1.ReasonAgentGone: unserved, v1alpha1.ReasonEndpointForeign: unserved,
		v1alpha1.ReasonEndpointSilent: func(p *v1alpha1.JavaProcess) { p.Endpoint.Silent = true },
		v1alpha1.ReasonEndpointLost:   func(*v1alpha1.JavaProcess) {},
		v1alpha1.ReasonConfigChanged:  func(*v1alpha1.JavaProcess) {},
	} {
		s, expected := aScope(serving("app", 9400)), serving("app", 9400)
		want(&expected)
		s.jvm().Forget(because(reason))
		if diff := cmp.Diff(&expected, s.jvm().Process); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
