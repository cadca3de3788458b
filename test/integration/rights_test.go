package integration

import (
	"errors"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The rights of exec alone, config/rbac, add no ephemeral container; those of
// config/ephemeral-containers do. Both are asked of the API server itself.
func TestRightsOfTransports(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	name := "operator-of-" + c.namespace
	user := addUser(t, name)
	pods, err := manager.NewPods(user, effects.Direct)
	if err != nil {
		t.Fatal(err)
	}
	exec := transport.NewExec(nil, artifacts, effects.Direct, transport.NewLimits(1, 1, 1))
	door := transport.NewDoor(exec, pods, transport.DoorOptions{Image: "registry.example/operator"})
	pod := c.run(aPod("app-0"))
	in := c.inApp(pod)
	in.ID, in.Object = pod.Status.ContainerStatuses[0].ContainerID, pod
	reason := func() string {
		_, err := door.Open(t.Context(), in)
		known, _ := errors.AsType[*transport.Error](err)
		if known == nil {
			t.Fatalf("no door is opened, and it says %v", err)
		}
		return known.Reason
	}

	c.grant(name, "../../config/rbac/role.yaml")
	eventually(t, func() bool { _, err := pods.Live(t.Context(), pod.Namespace, pod.Name); return err == nil })
	if got := reason(); got != v1alpha1.ReasonDoorForbidden {
		t.Errorf("with config/rbac it comes to %s", got)
	}
	c.grant(name, "../../config/ephemeral-containers/role.yaml")
	eventually(t, func() bool { return reason() == v1alpha1.ReasonDoorPending })
	if get(t, pod); len(pod.Spec.EphemeralContainers) != 1 {
		t.Errorf("the pod has %d ephemeral containers", len(pod.Spec.EphemeralContainers))
	}
}

// An exporter that asks for a transport that the operator may not use is refused until it
// does not, and nothing is done meanwhile; another operator that may use it goes on.
func TestTransportForbidden(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	o.attachments.(*attachment.Reconciler).Transport = v1alpha1.TransportEphemeralContainer
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportExec })
	if again := o.settle(); again != 0 {
		t.Errorf("it is tried again in %s", again)
	}
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonTransportForbidden, says: "--transport=EphemeralContainer"}.is(o, s.pod)
	o.did()
	if o.later(time.Hour); o.settle() != 0 || o.count() > 0 {
		t.Errorf("looked at again, it did %q", o.did())
	}

	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportAuto })
	o.settle()
	s.isAnnotated("9400")
	if got := s.attachment(s.pod).Status.Containers[0].Transport; got != v1alpha1.TransportEphemeralContainer {
		t.Errorf("with Auto the container is reached by %q", got)
	}

	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportExec })
	s.operate().settle()
	s.isAnnotated("9400")
}
