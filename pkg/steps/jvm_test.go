package steps

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The port requested by each process, and the ports that it avoids.
func TestPorts(t *testing.T) {
	primary := with(aProcess("a", 0), func(p *v1alpha1.JavaProcess) { p.Primary = true })
	serving := with(primary, func(p *v1alpha1.JavaProcess) { p.Port, p.Intent = 9400, &v1alpha1.LoadIntent{Port: 9400} })
	loaded := with(aProcess("b", 9404), func(p *v1alpha1.JavaProcess) { p.Intent = &v1alpha1.LoadIntent{} })
	adopted := with(aProcess("c", 9999), func(p *v1alpha1.JavaProcess) { p.Adopted = true })
	leftOut := with(aProcess("d", 9405), excluded)
	port := func(s *scene, port int32) *scene { s.Exporter.Spec.Port = port; return s }
	pending := func(s *scene) *scene { s.Granted = false; return s }
	declared := port(aSituation(primary), 0)
	declared.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9404}, {ContainerPort: 8080}}
	for name, tc := range map[string]struct {
		scene *scene
		want  []string
	}{
		"there is one process":                            {aSituation(primary), []string{"a asks for 9400, not []"}},
		"there are two processes":                         {aSituation(primary, aProcess("b", 0)), []string{"a asks for 9400, not []", "b asks for 0, not [9400]"}},
		"no process is primary":                           {aSituation(aProcess("b", 0)), []string{"b asks for 0, not []"}},
		"one process is adopted":                          {aSituation(adopted, primary, aProcess("b", 0)), []string{"a asks for 9400, not [9999]", "b asks for 0, not [9400 9999]"}},
		"one process is excluded":                         {aSituation(primary, leftOut), []string{"a asks for 9400, not []"}},
		"the exporter's port changed":                     {port(aSituation(serving, loaded), 9500), []string{"a asks for 9500, not [9404]", "b asks for 0, not [9400 9500]"}},
		"the exporter's port changed, and is not granted": {pending(port(aSituation(serving, loaded), 9500)), []string{"a asks for 9400, not [9404]", "b asks for 0, not [9400]"}},
		"the pod declares ports":                          {declared, []string{"a asks for 0, not [8080 9404]"}},
		"no port is set":                                  {port(aSituation(primary, aProcess("b", 0)), 0), []string{"a asks for 0, not []", "b asks for 0, not []"}},
	} {
		var got []string
		for _, p := range tc.scene.Chosen() {
			if j := (&JVM{tc.scene.Situation, p}); !p.Adopted {
				got = append(got, fmt.Sprintf("%s asks for %d, not %v", p.Container, j.port(), j.avoid()))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
