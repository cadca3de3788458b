package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// No way leads past the flag: with --transport=EphemeralContainer, nothing is there that
// could execute anything in an application's container, and with --transport=Node nothing that
// could reach its pod.
func TestWaysOf(t *testing.T) {
	for flag, want := range map[string][]v1alpha1.Transport{
		"Auto":               {v1alpha1.TransportEphemeralContainer, v1alpha1.TransportExec, v1alpha1.TransportNode},
		"Node":               {v1alpha1.TransportNode},
		"Exec":               {v1alpha1.TransportExec},
		"EphemeralContainer": {v1alpha1.TransportEphemeralContainer},
	} {
		o, _ := read([]string{"--transport=" + flag, "--door-image=operator"})
		ways, err := waysOf(t.Context(), o, &rest.Config{Host: "http://localhost"}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if agents := o.NodeAgents != nil; agents != slices.Contains(want, v1alpha1.TransportNode) {
			t.Errorf("%s: watches node agents: got %t", flag, agents)
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(ways))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", flag, diff)
		}
	}
}
