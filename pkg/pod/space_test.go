package pod

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The space that a pod's spec leaves in /tmp before the kubelet evicts the pod.
func TestSpace(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string // YAML of a PodSpec with the container app
		want string
	}{
		"there are no limits": {`containers: [{name: app}]`, ""},
		"the emptyDir has no limit": {`
volumes: [{name: tmp, emptyDir: {}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp}]}]`, ""},
		"the emptyDir is mounted at /tmp": {`
volumes: [{name: tmp, emptyDir: {sizeLimit: 4Mi}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp/}]}]`, "4194304 sizeLimit of the emptyDir tmp is 4Mi"},
		"the emptyDir is mounted above /tmp": {`
volumes: [{name: all, emptyDir: {sizeLimit: 4Mi}}]
containers: [{name: app, volumeMounts: [{name: all, mountPath: /}]}]`, "4194304 sizeLimit of the emptyDir all is 4Mi"},
		"the emptyDir is mounted at the agent directory": {`
volumes: [{name: tmp, emptyDir: {sizeLimit: 4Mi}}, {name: ours, emptyDir: {sizeLimit: 9Mi}}]
containers: [{name: app, volumeMounts: [{name: ours, mountPath: /tmp/.jmx-exporter}, {name: tmp, mountPath: /tmp}]}]`, "9437184 sizeLimit of the emptyDir ours is 9Mi"},
		"the emptyDir is mounted elsewhere": {`
volumes: [{name: cache, emptyDir: {sizeLimit: 4Mi}}]
containers: [{name: app, volumeMounts: [{name: cache, mountPath: /tmp/cache}, {name: cache, mountPath: /tmpfs}]}]`, ""},
		"a sizeLimit of 0 is no limit": {`
volumes: [{name: tmp, emptyDir: {sizeLimit: 0}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp}]}]`, ""},
		"the container has a limit": {`
containers: [{name: app, resources: {limits: {ephemeral-storage: 5M}}}]`, "5000000 limits.ephemeral-storage of the container is 5M"},
		"the pod's limit is the sum of its containers'": {`
containers: [{name: app}, {name: a, resources: {limits: {ephemeral-storage: 2Mi}}}]
initContainers: [{name: b, restartPolicy: Always, resources: {limits: {ephemeral-storage: 1Mi}}}, {name: c, resources: {limits: {ephemeral-storage: 1Mi}}}]`,
			"3145728 limits.ephemeral-storage of the pod is 3Mi"},
		"a large init container raises the pod's limit": {`
containers: [{name: app}, {name: a, resources: {limits: {ephemeral-storage: 2Mi}}}]
initContainers: [{name: c, resources: {limits: {ephemeral-storage: 7Mi}}}]`, "7340032 limits.ephemeral-storage of the pod is 7Mi"},
		"an emptyDir on disk counts for the pod, not for the container": {`
volumes: [{name: tmp, emptyDir: {sizeLimit: 9Mi}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp}], resources: {limits: {ephemeral-storage: 2Mi}}}, {name: b, resources: {limits: {ephemeral-storage: 3Mi}}}]`,
			"5242880 limits.ephemeral-storage of the pod is 5Mi"},
		"an emptyDir in memory counts for its own limit only": {`
volumes: [{name: tmp, emptyDir: {medium: Memory, sizeLimit: 9Mi}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp}], resources: {limits: {ephemeral-storage: 2Mi}}}]`,
			"9437184 sizeLimit of the emptyDir tmp is 9Mi"},
		"a PersistentVolumeClaim has no limit": {`
volumes: [{name: tmp, persistentVolumeClaim: {claimName: x}}]
containers: [{name: app, volumeMounts: [{name: tmp, mountPath: /tmp}], resources: {limits: {ephemeral-storage: 2Mi}}}]`, ""},
		"the container is a sidecar": {`
containers: [{name: main}]
initContainers: [{name: app, restartPolicy: Always, resources: {limits: {ephemeral-storage: 2Mi}}}]`, "2097152 limits.ephemeral-storage of the container is 2Mi"},
		"the container is unknown": {`containers: [{name: other, resources: {limits: {ephemeral-storage: 2Mi}}}]`, ""},
	} {
		pod := &corev1.Pod{}
		if err := yaml.UnmarshalStrict([]byte(tc.spec), &pod.Spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := SpaceFor(pod, "app")
		if tc.want == "" && got != (Space{}) || tc.want != "" && fmt.Sprint(got.Bytes, " ", got.Bound) != tc.want {
			t.Errorf("%s: got %d %s, want %q", name, got.Bytes, got.Bound, tc.want)
		}
	}
}
