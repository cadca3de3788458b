package record

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The condition says by which transport a container is reached, and why by no other.
func TestReached(t *testing.T) {
	const node, exec, door = v1alpha1.TransportNode, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer
	for name, tc := range map[string]struct {
		by      v1alpha1.Transport
		because string
		reason  string
		want    string
	}{
		"exec, as ever":                      {},
		"exec, by request":                   {by: exec},
		"a node agent":                       {by: node, want: "Container a is reached by the node agent on node n1."},
		"exec, and the node agent refuses":   {by: exec, because: v1alpha1.ReasonNodeAgentRefused, want: "Container a is reached by exec (node agent: NodeAgentRefused)."},
		"exec, and the node agent is gone":   {by: exec, because: v1alpha1.ReasonNodeAgentMissing, want: "Container a is reached by exec (node agent: NodeAgentMissing)."},
		"exec, and none into the node agent": {by: exec, because: v1alpha1.ReasonExecForbidden, want: "Container a is reached by exec (node agent: ExecForbidden)."},
		"an ephemeral container":             {by: door, because: v1alpha1.ReasonNoShell, want: "Container a is reached through an ephemeral container (exec: NoShell)."},
		"an ephemeral container, by request": {by: door, want: "Container a is reached through an ephemeral container."},
		"neither exec nor a node agent":      {by: door, because: v1alpha1.ReasonNodeAgentRefused, want: "Container a is reached through an ephemeral container (node agent: NodeAgentRefused)."},
		"none that reaches it":               {by: node, reason: v1alpha1.ReasonNodeAgentMissing},
	} {
		r := of(aProcess("a", 0))
		r.Status().NodeName = "n1"
		r.Status().Containers = []v1alpha1.InspectedContainer{{Name: "a", Transport: tc.by, TransportReason: tc.because, Reason: tc.reason}}
		_, got, _ := strings.Cut(r.Held(statemachine.Phase(v1alpha1.PhaseJavaFound)).Message, "in container a.")
		got, _, _ = strings.Cut(strings.TrimSpace(got), " Skipped")
		if strings.HasPrefix(got, "Skipped") {
			got = ""
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
