package exporter

import (
	"errors"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/test/golden"
)

// samples has exporters in each state that tools of GitOps tell apart. test/gitops shows
// what these tools make of them. go test -update writes the files.
const samples = "../../../test/gitops/testdata"

func TestSamples(t *testing.T) {
	const suspended, preflight = "suspended", "preflight"
	cases := map[string]struct {
		members  []string
		mode     string
		invalid  *steps.Problem
		halt     *v1alpha1.Halt
		restarts *v1alpha1.Restarts
		failure  error
	}{
		"exporter-no-pods":               {},
		"exporter-in-progress":           {members: []string{"app-0 n1 1h", "app-1 n1 granted", "app-2 n1 waits"}},
		"exporter-ready":                 {members: []string{"app-0 n1 1h", "app-1 n1 1h"}},
		"exporter-updating":              {members: []string{"app-0 n1 1h", "app-1 n1 old"}},
		"exporter-refused":               {members: []string{"app-0 n1 1h", "app-1 n1 AttachDisabled"}},
		"exporter-refused-in-progress":   {members: []string{"app-0 n1 waits", "app-1 n1 AttachDisabled"}},
		"exporter-failing":               {members: []string{"app-0 n1 1h", "app-1 n1 JavaFound PortInUse 3"}},
		"exporter-configuration-invalid": {members: []string{"app-0 n1 old"}, invalid: &steps.Problem{Reason: v1alpha1.ReasonConfigMapMissing, Message: "ConfigMap shop/rules does not exist."}},
		"exporter-halted":                {members: []string{"app-0 n1 1h", "app-1 n1 old"}, halt: &v1alpha1.Halt{Revision: revision, Reason: v1alpha1.ReasonRestartedAfterAttach, Message: "Pod app-0: Container app ended 3s after an attach. The rollout is halted."}},
		"exporter-paused":                {members: []string{"app-0 n1 1h", "app-1 n1 old"}, restarts: &v1alpha1.Restarts{Revision: revision, Paused: true, Message: "Pod app-2: Container app exited 3s after an attach or a change.", Pods: []v1alpha1.RestartedPod{{Name: "app-2", UID: "app-2", Time: metav1.NewTime(now)}}}},
		"exporter-suspended":             {members: []string{"app-0 n1 1h", "app-1 n1 waits"}, mode: suspended},
		"exporter-suspended-ready":       {members: []string{"app-0 n1 1h"}, mode: suspended},
		"exporter-write-refused":         {members: []string{"app-0 n1 1h"}, failure: errors.New("services is forbidden")},
		"exporter-preflight":             {members: []string{"app-0 n1 new"}, mode: preflight},
		"exporter-preflight-complete":    {members: []string{"app-0 n1 shut NoShell"}, mode: preflight},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.PrometheusJmxExporter{}
			e.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PrometheusJmxExporter"))
			e.Namespace, e.Name, e.Generation = shop, name, 2
			e.Spec.Suspend = tc.mode == suspended
			if tc.mode == preflight {
				e.Spec.Mode = v1alpha1.ModePreflight
			}
			f := &fleet{exporter: e, rollout: rollout{revision: revision, now: now, halt: tc.halt, restarts: tc.restarts, limits: limits("1m", "1%")}}
			f.inputs.Config.Problem = tc.invalid
			for _, words := range tc.members {
				f.members = append(f.members, memberOf(words))
			}
			e.Status = *sum{fleet: f, failure: tc.failure, now: metav1.NewTime(now)}.status()
			golden.CompareYAML(t, filepath.Join(samples, name+".yaml"), e)
		})
	}
}
