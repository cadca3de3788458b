package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// What a container shares of the pod's own memory limit.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		spec string // YAML of a PodSpec with the container app
		want *helperapi.PodMemory
	}{
		"the pod has no limit":      {`containers: [{name: app}, {name: other}]`, nil},
		"the pod limits CPU only":   {`{resources: {limits: {cpu: 1}}, containers: [{name: app}, {name: other}]}`, nil},
		"the container is alone":    {`{resources: {limits: {memory: 64Mi}}, containers: [{name: app}]}`, &helperapi.PodMemory{Limit: 64 * mib}},
		"the container has its own": {`{resources: {limits: {memory: 64Mi}}, containers: [{name: app, resources: {limits: {memory: 32Mi}}}]}`, &helperapi.PodMemory{Limit: 64 * mib}},
		"another one has no limit":  {`{resources: {limits: {memory: 64Mi}}, containers: [{name: app}, {name: other}]}`, &helperapi.PodMemory{Limit: 64 * mib, Unlimited: "other"}},
		"the others have theirs": {`
resources: {limits: {memory: 64Mi}}
containers: [{name: app}, {name: other, resources: {limits: {memory: 8Mi}}}]
initContainers: [{name: sidecar, restartPolicy: Always, resources: {limits: {memory: 4Mi}}}, {name: init}]`, &helperapi.PodMemory{Limit: 64 * mib, Others: 12 * mib}},
		"a sidecar has no limit": {`
resources: {limits: {memory: 64Mi}}
containers: [{name: app}]
initContainers: [{name: sidecar, restartPolicy: Always}]`, &helperapi.PodMemory{Limit: 64 * mib, Unlimited: "sidecar"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &pod.Spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, MemoryFor(pod, "app")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
