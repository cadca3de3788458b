package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The UID under which the kubelet runs a pod, which the mounts of its containers contain: a
// static pod is a different object than its mirror in the API server.
func TestKubeletUID(t *testing.T) {
	const uid, hash = "0f3f5a6e-0000-4000-8000-000000000000", "8c2b1a4de0f95d3b7a6c1e2f3d4b5a69"
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        types.UID
	}{
		"the pod is from the API server":               {want: uid},
		"the pod is static":                            {map[string]string{"kubernetes.io/config.mirror": hash, "kubernetes.io/config.hash": hash}, hash},
		"the pod is static, and has a UID":             {map[string]string{"kubernetes.io/config.mirror": "11111111-2222-4333-8444-555555555555"}, "11111111-2222-4333-8444-555555555555"},
		"the mirror annotation is missing":             {map[string]string{"kubernetes.io/config.hash": hash}, uid},
		"the mirror annotation is empty":               {map[string]string{"kubernetes.io/config.mirror": ""}, uid},
		"the mirror annotation is a path":              {map[string]string{"kubernetes.io/config.mirror": "../" + hash}, uid},
		"the mirror annotation has several lines":      {map[string]string{"kubernetes.io/config.mirror": hash + "\n{}"}, uid},
		"the mirror annotation has a second word":      {map[string]string{"kubernetes.io/config.mirror": hash + " always"}, uid},
		"the mirror annotation is longer than any UID": {map[string]string{"kubernetes.io/config.mirror": hash + hash + hash}, uid},
	} {
		pod := &corev1.Pod{}
		pod.UID, pod.Annotations = uid, tc.annotations
		if got := KubeletUID(pod); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
