package steps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// An operator that may use one transport uses no other, whatever the exporter asks for.
func TestTransportAllowed(t *testing.T) {
	const exec, throughDoor = v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	noShell := says(v1alpha1.ReasonNoShell)
	for name, tc := range map[string]struct {
		allowed, asked v1alpha1.Transport
		answer         func() (*helperapi.Report, error)
		mode           v1alpha1.Mode
		ran            []string
		want           string
		says           []string
	}{
		"exec":                                   {allowed: exec, answer: jvm, ran: []string{"a Exec"}},
		"exec, asked for":                        {allowed: exec, asked: exec, answer: jvm, ran: []string{"a Exec"}},
		"exec, and there is no shell":            {allowed: exec, answer: noShell, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell, says: []string{"--transport=Exec", "config/default"}},
		"exec, and the other is asked for":       {allowed: exec, asked: throughDoor, want: v1alpha1.ReasonTransportForbidden, says: []string{"--transport=Exec,", "spec.transport", "config/default"}},
		"the other, also where there is a shell": {allowed: throughDoor, answer: jvm, ran: []string{"a" + door}},
		"the other, asked for":                   {allowed: throughDoor, asked: throughDoor, answer: jvm, ran: []string{"a" + door}},
		"the other, and exec is asked for":       {allowed: throughDoor, asked: exec, want: v1alpha1.ReasonTransportForbidden, says: []string{"--transport=EphemeralContainer,"}},
		"and in mode Preflight":                  {allowed: throughDoor, asked: exec, mode: v1alpha1.ModePreflight, want: v1alpha1.ReasonTransportForbidden},
		"both":                                   {allowed: v1alpha1.TransportAuto, asked: exec, answer: noShell, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell, says: []string{"Set spec.transport to Auto"}},
		"both, in mode Preflight":                {allowed: v1alpha1.TransportAuto, mode: v1alpha1.ModePreflight, answer: noShell, ran: []string{"a"}, want: v1alpha1.ReasonNoShell, says: []string{"Mode Attach"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope()
			s.runs("a")
			s.Transport, s.Exporter.Spec.Transport, s.Exporter.Spec.Mode = tc.allowed, tc.asked, tc.mode
			helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": tc.answer, "a Exec": tc.answer, "a" + door: tc.answer}}
			s.Helper = helper
			got := FindJava{}.Ensure(t.Context(), s)
			if got.Reason != tc.want || tc.want != "" && got.Kind != statemachine.Refused {
				t.Errorf("it comes to %v %q: %s", got.Kind, got.Reason, got.Message)
			}
			for _, words := range tc.says {
				if !strings.Contains(got.Message, words) {
					t.Errorf("it says %q, without %q", got.Message, words)
				}
			}
			if tc.allowed == v1alpha1.TransportAuto && strings.Contains(got.Message, "--transport") {
				t.Errorf("it says %q of a flag that rules nothing out", got.Message)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("executed (-want +got):\n%s", diff)
			}
		})
	}
}

// What another operator attached to by the other transport is detached by the one that
// this operator may use.
func TestDetachByAllowedTransport(t *testing.T) {
	for allowed, before := range map[v1alpha1.Transport]v1alpha1.Transport{
		v1alpha1.TransportExec:               v1alpha1.TransportEphemeralContainer,
		v1alpha1.TransportEphemeralContainer: v1alpha1.TransportExec,
	} {
		s := aScope(serving("a", 9400)).inspectedWell()
		s.Exporter, s.Transport = nil, allowed
		s.inspected("a").Transport = before
		if got := s.at("a").Transport; got != allowed {
			t.Errorf("with --transport=%s the container is reached by %s", allowed, got)
		}
		if s.Transport = ""; s.at("a").Transport != before {
			t.Errorf("with both, what was attached by %s is reached by %s", before, s.at("a").Transport)
		}
	}
}

// Whoever comes to a JVM by the other transport knows whom it runs as.
func TestUserOfKnownJVM(t *testing.T) {
	s := aScope(serving("a", 9400)).inspectedWell()
	s.Status().Processes[0].UID, s.Status().Processes[0].GID = 5, 6
	if got, want := s.at("a").JVMUser, (&transport.User{UID: 5, GID: 6}); got == nil || *got != *want {
		t.Errorf("the JVM runs as %v, want %v", got, want)
	}
	s.Status().Processes[0].ContainerID = "containerd://before"
	if got := s.at("a").JVMUser; got != nil {
		t.Errorf("in another container, the JVM runs as %v", got)
	}
}

// A pod that was refused for its transport is tried again by an operator that may use it.
func TestKeyHasAllowedTransport(t *testing.T) {
	s := aScope()
	s.Exporter.Spec.Transport, s.Transport = v1alpha1.TransportEphemeralContainer, v1alpha1.TransportExec
	before := s.Key()
	if s.Transport = v1alpha1.TransportAuto; s.Key() == before {
		t.Error("the key is the same for an operator that may use both")
	}
}
