package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Whether other containers can write to the volume at /tmp is read from the pod's spec.
func TestTmpMountedElsewhere(t *testing.T) {
	at := func(volume, path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: volume, MountPath: path}
	}
	of := func(volume, path, subPath string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: volume, MountPath: path, SubPath: subPath}
	}
	mounts := func(m ...corev1.VolumeMount) []corev1.VolumeMount { return m }
	for name, tc := range map[string]struct {
		own, other []corev1.VolumeMount
		want       bool
	}{
		"the container mounts nothing":                       {nil, mounts(at("tmp", "/tmp")), false},
		"the volume is the container's own":                  {mounts(at("tmp", "/tmp")), mounts(at("theirs", "/tmp")), false},
		"the volume is mounted at /tmp in both":              {mounts(at("tmp", "/tmp")), mounts(at("tmp", "/tmp")), true},
		"the volume is mounted elsewhere in the other":       {mounts(at("tmp", "/tmp/")), mounts(at("tmp", "/data")), true},
		"the volume is mounted twice in one container":       {mounts(at("tmp", "/tmp"), at("tmp", "/data")), nil, false},
		"another volume is shared":                           {mounts(at("tmp", "/tmp"), at("data", "/data")), mounts(at("data", "/data")), false},
		"a volume above /tmp is shared":                      {mounts(at("root", "/")), mounts(at("root", "/data")), true},
		"a volume below /tmp is shared":                      {mounts(at("tmp", "/tmp"), at("home", "/tmp/.jmx-exporter")), mounts(at("home", "/data")), true},
		"a volume above /tmp is shared, and /tmp is another": {mounts(at("root", "/"), at("tmp", "/tmp")), mounts(at("root", "/data")), false},
		"a volume in another directory of /tmp is shared":    {mounts(at("work", "/tmp/work")), mounts(at("work", "/data")), false},
		"a volume at a similar path is shared":               {mounts(at("work", "/tmpfs")), mounts(at("work", "/data")), false},
		"the other mount is read-only":                       {mounts(at("tmp", "/tmp")), mounts(corev1.VolumeMount{Name: "tmp", MountPath: "/data", ReadOnly: true}), false},
		"the subPaths differ":                                {mounts(of("tmp", "/tmp", "a")), mounts(of("tmp", "/tmp", "b")), false},
		"the other subPath is below":                         {mounts(of("tmp", "/tmp", "a")), mounts(of("tmp", "/tmp", "a/b")), true},
		"the other mount contains the subPath":               {mounts(of("tmp", "/tmp", "a/b")), mounts(at("tmp", "/tmp")), true},
		"the other mount has a subPathExpr":                  {mounts(of("tmp", "/tmp", "a")), mounts(corev1.VolumeMount{Name: "tmp", MountPath: "/tmp", SubPathExpr: "$(NAME)"}), true},
		"the volume is a hostPath":                           {mounts(at("node", "/tmp")), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/tmp"}}}
			app := corev1.Container{Name: "app", VolumeMounts: tc.own}
			other := corev1.Container{Name: "other", VolumeMounts: tc.other}
			ended, sidecar := other, other
			sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			debugger := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(other)}
			alone := len(tc.other) == 0 && tc.want
			for kind, beside := range map[string]struct {
				spec corev1.PodSpec
				want bool
			}{
				"container":           {corev1.PodSpec{Containers: []corev1.Container{app, other}}, tc.want},
				"sidecar":             {corev1.PodSpec{Containers: []corev1.Container{app}, InitContainers: []corev1.Container{sidecar}}, tc.want},
				"init container":      {corev1.PodSpec{Containers: []corev1.Container{app}, InitContainers: []corev1.Container{ended}}, alone},
				"ephemeral container": {corev1.PodSpec{Containers: []corev1.Container{app}, EphemeralContainers: []corev1.EphemeralContainer{debugger}}, tc.want},
			} {
				beside.spec.Volumes = []corev1.Volume{node}
				if got := TmpMountedElsewhere(&corev1.Pod{Spec: beside.spec}, "app"); got != beside.want {
					t.Errorf("beside a %s: got %v, want %v", kind, got, beside.want)
				}
			}
		})
	}
}
