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

// The rights of config/rbac, exec only, do not allow ephemeral containers; those of
// config/ephemeral-containers do. Both roles are evaluated by the API server.
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
			t.Fatalf("the door was not opened, with error %v", err)
		}
		return known.Reason
	}

	c.grant(name, "../../config/rbac/role.yaml")
	eventually(t, func() bool { _, err := pods.Live(t.Context(), pod.Namespace, pod.Name); return err == nil })
	if got := reason(); got != v1alpha1.ReasonDoorForbidden {
		t.Errorf("reason with config/rbac: got %s, want %s", got, v1alpha1.ReasonDoorForbidden)
	}
	c.grant(name, "../../config/ephemeral-containers/role.yaml")
	eventually(t, func() bool { return reason() == v1alpha1.ReasonDoorPending })
	if get(t, pod); len(pod.Spec.EphemeralContainers) != 1 {
		t.Errorf("ephemeral containers: got %d, want 1", len(pod.Spec.EphemeralContainers))
	}
}

// An exporter whose transport the operator may not use is refused until its transport
// changes, without any effect meanwhile; an operator that may use the transport continues.
func TestTransportForbidden(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	o.attachments.(*attachment.Reconciler).Transport = v1alpha1.TransportEphemeralContainer
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportExec })
	if again := o.settle(); again != 0 {
		t.Errorf("next try: got %s, want none", again)
	}
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonTransportForbidden, says: "--transport=EphemeralContainer"}.is(o, s.pod)
	o.did()
	if o.later(time.Hour); o.settle() != 0 || o.count() > 0 {
		t.Errorf("effects without a change: got %q, want none", o.did())
	}

	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportAuto })
	o.settle()
	s.isAnnotated("9400")
	if got := s.attachment(s.pod).Status.Containers[0].Transport; got != v1alpha1.TransportEphemeralContainer {
		t.Errorf("transport with Auto: got %q, want %q", got, v1alpha1.TransportEphemeralContainer)
	}

	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportExec })
	s.operate().settle()
	s.isAnnotated("9400")
}
