package steps

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Each request that decides or does something in /tmp tells the helper what it cannot see,
// and which jar is to be loaded.
func TestTmpInRequests(t *testing.T) {
	for _, allow := range []bool{false, true} {
		s := aSituation()
		s.runs("app")
		s.runs("other")
		for i := range s.Pod.Spec.Containers {
			s.Pod.Spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
		}
		s.Exporter.Spec.AllowSharedTmp = allow
		asked := map[helperapi.Verb]helperapi.Request{}
		s.Helper = helperFunc(func(_ context.Context, _ transport.Container, verb helperapi.Verb, r helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
			asked[verb] = r
			return &helperapi.Report{Processes: []helperapi.Process{{Target: aTarget, Implementation: "HotSpot"}}}, nil
		})
		FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
		Stage{s.Tools}.Ensure(t.Context(), s.jvm())
		Load{s.Tools}.Ensure(t.Context(), s.jvm())
		for _, verb := range []helperapi.Verb{helperapi.VerbInspect, helperapi.VerbStage, helperapi.VerbLoad} {
			if r, ok := asked[verb]; !ok || !r.TmpMountedElsewhere || r.AllowSharedTmp != allow {
				t.Errorf("request %s: got %+v", verb, r)
			}
		}
		if d := asked[helperapi.VerbLoad].Desired; d == nil || d.AgentSHA256 != s.Artifacts.Agent.SHA256 {
			t.Errorf("desired state of the load: got %+v", d)
		}
	}
}
