package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// No ephemeral container is added to reach an agent to which exec has led, whichever transports
// were taken since; one is added where exec never did.
func TestExecHasLed(t *testing.T) {
	ok, noShell := sees(), says(v1alpha1.ReasonNoShell)
	refuses, fails := says(v1alpha1.ReasonNodeAgentRefused), opensNone(v1alpha1.ReasonExecFailed)
	type visit struct {
		agent NodeAgent
		node  func() (*helperapi.Report, error)
		exec  func() (*helperapi.Report, error)
	}
	none := NodeAgent{}
	gone := visit{agent: none, exec: noShell}
	attached, found := serving("a", 9400), aProcess("a", 0)
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		before  recorded
		// failed is the reason why the last inspection failed.
		failed string
		visits []visit
		// replaced has the container restart before the last visit, and attached to again.
		replaced bool
		door     bool
	}{
		"exec, node agent, exec":                                 {process: attached, visits: []visit{{none, nil, ok}, {agentReady, ok, nil}, gone}},
		"exec of an earlier operator, node agent, exec":          {process: attached, visits: []visit{{agentReady, ok, nil}, gone}},
		"exec by request, node agent, exec":                      {process: attached, before: recorded{Transport: v1alpha1.TransportExec}, visits: []visit{{agentReady, ok, nil}, gone}},
		"node agent, exec, node agent, exec":                     {process: attached, before: recorded{Transport: v1alpha1.TransportNode}, visits: []visit{{agentReady, ok, nil}, {none, nil, ok}, {agentReady, ok, nil}, gone}},
		"exec, then a node agent that refuses, no shell":         {process: attached, visits: []visit{{none, nil, ok}, {agentReady, refuses, noShell}}},
		"node agent that refuses, exec, exec":                    {process: attached, visits: []visit{{agentReady, refuses, ok}, {agentReady, nil, noShell}}},
		"node agent that refuses, exec, the next one, exec":      {process: attached, visits: []visit{{agentReady, refuses, ok}, {agentNext, ok, nil}, gone}},
		"node agent, exec":                                       {process: attached, before: recorded{Transport: v1alpha1.TransportNode}, visits: []visit{{agentReady, ok, nil}, gone}, door: true},
		"node agent, exec without a shell":                       {process: attached, before: recorded{Transport: v1alpha1.TransportNode}, visits: []visit{{agentReady, ok, nil}, {agentReady, refuses, noShell}}, door: true},
		"ephemeral container, node agent, exec":                  {process: attached, before: recorded{v1alpha1.TransportEphemeralContainer, v1alpha1.ReasonNoShell}, visits: []visit{{agentReady, ok, nil}, gone}, door: true},
		"exec without an agent in the container":                 {process: found, visits: []visit{{none, nil, ok}, {agentReady, ok, nil}, gone}},
		"exec, node agent, exec in the next instance":            {process: attached, visits: []visit{{none, nil, ok}, {agentReady, ok, nil}, gone}, replaced: true, door: true},
		"exec by request, which failed, then a node agent, exec": {process: attached, before: recorded{Transport: v1alpha1.TransportNode}, visits: []visit{{agentReady, ok, nil}, {agentReady, fails, nil}, gone}, door: true},
		"exec by request without a shell, then a node agent":     {process: attached, before: recorded{Transport: v1alpha1.TransportExec}, failed: v1alpha1.ReasonNoShell, visits: []visit{{agentReady, ok, nil}, gone}, door: true},
		"exec that was about to be tried, then a node agent":     {process: attached, before: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentMissing}, visits: []visit{{agentReady, ok, nil}, gone}, door: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(tc.process).inspectedWell()
			entry := s.Inspected("a")
			entry.Transport, entry.TransportReason, entry.Reason = tc.before.Transport, tc.before.Reason, tc.failed
			var ran []string
			for i, v := range tc.visits {
				if tc.replaced && i == len(tc.visits)-1 {
					s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://next"
					s.InspectedOrNew(pod.Running(s.Pod)[0])
					s.jvm().Process.ContainerID = "containerd://next"
				}
				exec := v.exec
				helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: v.node, "a" + byExec: exec, "a": exec, "a" + door: ok}}
				s.Helper, s.NodeAgent, s.withoutNode = helper, v.agent, nil
				_, _ = s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
				ran = helper.ran
			}
			if got := ran[len(ran)-1] == "a"+door; got != tc.door {
				t.Errorf("an ephemeral container is added: %t, want %t; last calls: %q", got, tc.door, ran)
			}
			if diff := cmp.Diff(tc.process.Intent != nil && !tc.door, s.Inspected("a").ReachedByExec); diff != "" {
				t.Errorf("the record says that exec has led to the agent (-want +got):\n%s", diff)
			}
		})
	}
}
