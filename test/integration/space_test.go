package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod that the agent's files would get evicted is refused because of its spec: nothing
// is written to it.
func TestPodWithoutSpace(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*corev1.PodSpec){
		"the emptyDir has a sizeLimit": func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("20"))},
			}}}
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
		},
		"the container has a limit of ephemeral-storage": func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("20")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			p := aPod("app-0")
			limit(&p.pod.Spec)
			s.pod = s.run(p)
			s.export("exporter")
			o.settle()
			if got, want := phaseOf(s.attachment(s.pod)), string(v1alpha1.PhaseJavaFound)+" "+v1alpha1.ReasonStorageLimitTooLow; got != want {
				t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, want)
			}
			if calls := s.containers.Called(); slices.Contains(calls, helperapi.VerbStage) || slices.Contains(calls, helperapi.VerbLoad) {
				t.Errorf("helper operations: got %v, want no stage and no load", calls)
			}
		})
	}
}
