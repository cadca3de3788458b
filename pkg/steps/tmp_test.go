package steps

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
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
		"NoMount":             {nil, mounts(at("tmp", "/tmp")), false},
		"OwnVolume":           {mounts(at("tmp", "/tmp")), mounts(at("theirs", "/tmp")), false},
		"SameVolume":          {mounts(at("tmp", "/tmp")), mounts(at("tmp", "/tmp")), true},
		"SameVolumeElsewhere": {mounts(at("tmp", "/tmp/")), mounts(at("tmp", "/data")), true},
		"MountedTwice":        {mounts(at("tmp", "/tmp"), at("tmp", "/data")), nil, false},
		"AnotherVolumeShared": {mounts(at("tmp", "/tmp"), at("data", "/data")), mounts(at("data", "/data")), false},
		"AboveTmp":            {mounts(at("root", "/")), mounts(at("root", "/data")), true},
		"BelowTmp":            {mounts(at("tmp", "/tmp"), at("home", "/tmp/.jmx-exporter")), mounts(at("home", "/data")), true},
		"ClosestDecides":      {mounts(at("root", "/"), at("tmp", "/tmp")), mounts(at("root", "/data")), false},
		"BesideTmp":           {mounts(at("work", "/tmp/work")), mounts(at("work", "/data")), false},
		"LooksAlike":          {mounts(at("work", "/tmpfs")), mounts(at("work", "/data")), false},
		"ReadOnly":            {mounts(at("tmp", "/tmp")), mounts(corev1.VolumeMount{Name: "tmp", MountPath: "/data", ReadOnly: true}), false},
		"OtherSubPath":        {mounts(of("tmp", "/tmp", "a")), mounts(of("tmp", "/tmp", "b")), false},
		"SubPathBelow":        {mounts(of("tmp", "/tmp", "a")), mounts(of("tmp", "/tmp", "a/b")), true},
		"SubPathAbove":        {mounts(of("tmp", "/tmp", "a/b")), mounts(at("tmp", "/tmp")), true},
		"SubPathUnknown":      {mounts(of("tmp", "/tmp", "a")), mounts(corev1.VolumeMount{Name: "tmp", MountPath: "/tmp", SubPathExpr: "$(NAME)"}), true},
		"Node":                {mounts(at("node", "/tmp")), nil, true},
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
				if got := tmpMountedElsewhere(&corev1.Pod{Spec: beside.spec}, "app"); got != beside.want {
					t.Errorf("beside a %s: got %v, want %v", kind, got, beside.want)
				}
			}
		})
	}
}

// Each request that decides or does something in /tmp tells the helper what it cannot see,
// and which jar is to be loaded.
func TestTmpInRequests(t *testing.T) {
	for _, allow := range []bool{false, true} {
		s := aScope()
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
		FindJava{}.Ensure(t.Context(), s)
		Stage{}.Ensure(t.Context(), s.jvm())
		Load{}.Ensure(t.Context(), s.jvm())
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
