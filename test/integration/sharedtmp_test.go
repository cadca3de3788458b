package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A volume that is /tmp of two containers is detected in the pod's spec, and attaching
// there needs an explicit permission.
func TestSharedTmp(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	p := aPod("app-0").container("sidecar")
	p.pod.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	for i := range p.pod.Spec.Containers {
		p.pod.Spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	}
	pod := c.run(p)
	for _, name := range []string{"app", "sidecar"} {
		c.containers.Get(pod.UID, name).Exposed = true
	}
	e := c.export("exporter")
	o.settle()
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonTmpShared, says: "The container says TmpShared."}.is(o, pod)

	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.AllowSharedTmp = true })
	o.settle()
	(&story{c, pod, e}).isAnnotated("9400")
	published := c.endpoints(e)

	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.AllowSharedTmp = false })
	o.settle()
	if a := c.attachment(pod); a.Status.Reason != v1alpha1.ReasonTmpShared {
		t.Errorf("permission revoked: got reason %s and conditions %v, want TmpShared", a.Status.Reason, a.Status.Conditions)
	}
	if got := c.endpoints(e); got != published {
		t.Errorf("permission revoked: endpoints of the exporter: got %q, want %q", got, published)
	}
}
