package transport

import (
	"context"
	"fmt"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A session is opened by the requested transport, and never by another one.
func TestWays(t *testing.T) {
	const exec, door, node = v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer, v1alpha1.TransportNode
	opens := func(ways ...v1alpha1.Transport) Ways {
		w := Ways{}
		for _, way := range ways {
			w[way] = dialerFunc(func(context.Context, Container) (Session, error) {
				return nil, &Error{Reason: string(way)}
			})
		}
		return w
	}
	for name, tc := range map[string]struct {
		ways Ways
		by   v1alpha1.Transport
		want string
	}{
		"exec":                            {opens(exec, door), exec, "Exec"},
		"an ephemeral container":          {opens(exec, door), door, "EphemeralContainer"},
		"exec if nothing is said":         {opens(exec, door), "", "Exec"},
		"no ephemeral container":          {opens(exec), door, v1alpha1.ReasonTransportForbidden},
		"no exec":                         {opens(door), exec, v1alpha1.ReasonTransportForbidden},
		"no exec, not for want of a word": {opens(door), "", v1alpha1.ReasonTransportForbidden},
		"an ephemeral container, no exec": {opens(door), door, "EphemeralContainer"},
		"a node agent":                    {opens(exec, door, node), node, "Node"},
		"a node agent, and no exec":       {opens(node), "", v1alpha1.ReasonTransportForbidden},
		"no node agent":                   {opens(exec), node, v1alpha1.ReasonTransportForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.ways.Open(t.Context(), Container{Transport: tc.by})
			wantError(t, err, tc.want, "")
		})
	}
}

// The message names the flag, and what it rules out.
func TestForbidden(t *testing.T) {
	const exec, door, node = v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer, v1alpha1.TransportNode
	for _, allowed := range []v1alpha1.Transport{exec, door, node} {
		for _, way := range []v1alpha1.Transport{exec, door, node} {
			if way == allowed {
				continue
			}
			_, err := Ways{allowed: nil}.Open(t.Context(), Container{Transport: way})
			wantError(t, err, v1alpha1.ReasonTransportForbidden, fmt.Sprintf("runs with --transport=%s, which rules out %s:", allowed, way))
		}
	}
}
