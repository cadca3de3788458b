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

// An operator that may use one transport uses no other, whatever the exporter requests.
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
		"exec is allowed":                                                           {allowed: exec, answer: jvm, ran: []string{"a Exec"}},
		"exec is allowed and requested":                                             {allowed: exec, asked: exec, answer: jvm, ran: []string{"a Exec"}},
		"exec is allowed, and there is no shell":                                    {allowed: exec, answer: noShell, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell, says: []string{"--transport=Exec", "config/default"}},
		"exec is allowed, and an ephemeral container is requested":                  {allowed: exec, asked: throughDoor, want: v1alpha1.ReasonTransportForbidden, says: []string{"--transport=Exec,", "spec.transport", "config/default"}},
		"ephemeral containers are allowed, and there is a shell":                    {allowed: throughDoor, answer: jvm, ran: []string{"a" + door}},
		"ephemeral containers are allowed and requested":                            {allowed: throughDoor, asked: throughDoor, answer: jvm, ran: []string{"a" + door}},
		"ephemeral containers are allowed, and exec is requested":                   {allowed: throughDoor, asked: exec, want: v1alpha1.ReasonTransportForbidden, says: []string{"--transport=EphemeralContainer,"}},
		"ephemeral containers are allowed, and exec is requested in mode Preflight": {allowed: throughDoor, asked: exec, mode: v1alpha1.ModePreflight, want: v1alpha1.ReasonTransportForbidden},
		"both are allowed, and exec is requested":                                   {allowed: v1alpha1.TransportAuto, asked: exec, answer: noShell, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell, says: []string{"Set spec.transport to Auto"}},
		"both are allowed in mode Preflight":                                        {allowed: v1alpha1.TransportAuto, mode: v1alpha1.ModePreflight, answer: noShell, ran: []string{"a"}, want: v1alpha1.ReasonNoShell, says: []string{"Mode Attach"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.Transport, s.Exporter.Spec.Transport, s.Exporter.Spec.Mode = tc.allowed, tc.asked, tc.mode
			helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": tc.answer, "a Exec": tc.answer, "a" + door: tc.answer}}
			s.Helper = helper
			got := FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
			if got.Reason != tc.want || tc.want != "" && got.Kind != statemachine.Refused {
				t.Errorf("got %v %q (%s), want %q", got.Kind, got.Reason, got.Message, tc.want)
			}
			for _, words := range tc.says {
				if !strings.Contains(got.Message, words) {
					t.Errorf("message: got %q, want it to contain %q", got.Message, words)
				}
			}
			if tc.allowed == v1alpha1.TransportAuto && strings.Contains(got.Message, "--transport") {
				t.Errorf("message names a flag that excludes nothing: %q", got.Message)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that another operator attached by the other transport is detached by the transport
// that this operator may use.
func TestDetachByAllowedTransport(t *testing.T) {
	for allowed, before := range map[v1alpha1.Transport]v1alpha1.Transport{
		v1alpha1.TransportExec:               v1alpha1.TransportEphemeralContainer,
		v1alpha1.TransportEphemeralContainer: v1alpha1.TransportExec,
	} {
		s := aSituation(serving("a", 9400)).inspectedWell()
		s.Exporter, s.Transport = nil, allowed
		s.Inspected("a").Transport = before
		if got := s.at("a").Transport; got != allowed {
			t.Errorf("transport with --transport=%s: got %s", allowed, got)
		}
		if s.Transport = ""; s.at("a").Transport != before {
			t.Errorf("transport with both: got %s, want %s as before", s.at("a").Transport, before)
		}
	}
}

// A session that detaches leaves nothing in the container: it may be another one than had
// the agent, whose helper nothing would remove.
func TestDetachIsTransient(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	if s.at("a").Transient {
		t.Error("a session that attaches leaves nothing, want the helper to stay")
	}
	if s.Exporter = nil; !s.at("a").Transient {
		t.Error("a session that detaches leaves the helper")
	}
}

// A session by the other transport knows the user of the JVM.
func TestUserOfKnownJVM(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	s.Status().Processes[0].UID, s.Status().Processes[0].GID = 5, 6
	if got, want := s.at("a").JVMUser, (&transport.User{UID: 5, GID: 6}); got == nil || *got != *want {
		t.Errorf("user of the JVM: got %v, want %v", got, want)
	}
	s.Status().Processes[0].ContainerID = "containerd://before"
	if got := s.at("a").JVMUser; got != nil {
		t.Errorf("user of the JVM in another container: got %v, want none", got)
	}
}

// A pod that was refused for its transport is retried by an operator that may use it.
func TestKeyHasAllowedTransport(t *testing.T) {
	s := aSituation()
	s.Exporter.Spec.Transport, s.Transport = v1alpha1.TransportEphemeralContainer, v1alpha1.TransportExec
	before := s.Key()
	if s.Transport = v1alpha1.TransportAuto; s.Key() == before {
		t.Error("the key did not change for an operator that may use both")
	}
}
