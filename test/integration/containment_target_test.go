package integration

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// target is the target of the attacks: a pod of an application with an ephemeral container,
// an exporter whose pods are attached to, and foreign objects.
type target struct {
	*contained
	pod      *corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
	record   *v1alpha1.JmxAttachment
	// service and slice are the exporter's own, and foreign is not.
	service *corev1.Service
	slice   *discoveryv1.EndpointSlice
	foreign *corev1.Service
	// unbound is a pod that no node runs yet.
	unbound *corev1.Pod
}

const doorOfTest = transport.DoorPrefix + "0123abcd-1"

func newTarget(c *contained) *target {
	c.t.Helper()
	t := &target{contained: c}
	p := aPod("app-0").container("second")
	p.pod.Spec.Volumes = []corev1.Volume{scratch("data"), scratch("other"), claimed("claim"), claimed("other-claim")}
	p.pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"KILL"}}}
	t.pod = c.run(p)
	o := c.operate()
	t.exporter = c.export("exporter")
	o.settle()
	o.settle()
	t.record = c.attachment(t.pod)
	if t.record == nil || t.record.Status.Phase != v1alpha1.PhaseAnnotated {
		c.t.Fatalf("the target is not Annotated: %+v", t.record)
	}
	var services corev1.ServiceList
	c.list(&services)
	t.service = &services.Items[0]
	t.slice = &c.slices(t.exporter)[0]
	t.foreign = create(c.t, &corev1.Service{ObjectMeta: c.named("payments"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	unbound := aPod("unbound").pod
	unbound.Namespace, unbound.Spec.NodeName, unbound.Spec.SchedulerName = c.namespace, "", "none"
	t.unbound = create(c.t, &unbound)
	get(c.t, t.pod)
	door := t.door()
	t.pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{door}
	if err := admin.SubResource("ephemeralcontainers").Update(c.t.Context(), t.pod); err != nil {
		c.t.Fatal(err)
	}
	return t
}

func scratch(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func claimed(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

// door returns an ephemeral container as the operator adds it.
func (t *target) door() corev1.EphemeralContainer {
	return t.doorOf(transport.User{UID: 1000, GID: 1000})
}

// doorOf returns the door that the operator adds for a JVM of a user.
func (t *target) doorOf(user transport.User) corev1.EphemeralContainer {
	t.t.Helper()
	added := &addedDoor{pod: t.pod}
	in := t.inApp(t.pod)
	in.ID, in.Object, in.User = t.pod.Status.ContainerStatuses[0].ContainerID, t.pod, &user
	exec := transport.NewExec(nil, artifacts, effects.Direct, transport.NewLimits(1, 1, 1))
	if _, err := transport.NewDoor(exec, added, transport.DoorOptions{Image: "registry.example/operator:1", Idle: 15 * time.Minute}).Open(t.t.Context(), in); added.door.Name == "" {
		t.t.Fatal(err)
	}
	added.door.Name = doorOfTest
	return added.door
}

// addedDoor keeps the ephemeral container that the operator would add to a pod.
type addedDoor struct {
	pod  *corev1.Pod
	door corev1.EphemeralContainer
}

// Live implements transport.Pods.
func (a *addedDoor) Live(context.Context, string, string) (*corev1.Pod, error) { return a.pod, nil }

// AddEphemeralContainer implements transport.Pods.
func (a *addedDoor) AddEphemeralContainer(_ context.Context, _ *corev1.Pod, c *corev1ac.EphemeralContainerApplyConfiguration) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &a.door)
}

// patches changes an object as the operator's account would, by a patch.
func patches[T client.Object](t *target, as client.Client, object T, how func(T)) error {
	t.t.Helper()
	if !get(t.t, object) {
		t.t.Fatalf("%T %s does not exist", object, object.GetName())
	}
	after := object.DeepCopyObject().(T)
	how(after)
	return as.Patch(t.t.Context(), after, client.MergeFrom(object), client.DryRunAll)
}

func (t *target) pods(what string, how func(*corev1.Pod)) attempt {
	return attempt{what, func() error { return patches(t, t.client, t.pod.DeepCopy(), how) }}
}

// adds adds an ephemeral container like the operator's, with a change.
func (t *target) adds(what string, how func(*corev1.EphemeralContainer)) attempt {
	return attempt{what, func() error {
		pod := t.pod.DeepCopy()
		get(t.t, pod)
		after, c := pod.DeepCopy(), t.door()
		c.Name = transport.DoorPrefix + "0123abcd-2"
		how(&c)
		after.Spec.EphemeralContainers = append(after.Spec.EphemeralContainers, c)
		return t.client.SubResource("ephemeralcontainers").Patch(t.t.Context(), after, client.StrategicMergeFrom(pod),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	}}
}

// makes creates a Service like the operator's, with a change.
func (t *target) makes(what string, how func(*corev1.Service)) attempt {
	return attempt{what, func() error {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "other-jmx-0123abcd", Labels: maps.Clone(t.service.Labels), OwnerReferences: t.service.OwnerReferences},
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "metrics", Port: 9400}}}}
		how(s)
		return t.client.Create(t.t.Context(), s, client.DryRunAll)
	}}
}

// slicesOf creates an EndpointSlice like the operator's, with a change.
func (t *target) slicesOf(what string, how func(*discoveryv1.EndpointSlice)) attempt {
	return attempt{what, func() error {
		s := t.slice.DeepCopy()
		s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "1", Labels: s.Labels, OwnerReferences: s.OwnerReferences}
		how(s)
		return t.client.Create(t.t.Context(), s, client.DryRunAll)
	}}
}

// execs returns an exec in the target's pod over each protocol.
func (t *target) execs(what, container string, command []string, tty bool) []attempt {
	return t.execsIn(what, t.pod, container, command, tty)
}

// execsIn returns an exec over each protocol.
func (c *contained) execsIn(what string, pod *corev1.Pod, container string, command []string, tty bool) []attempt {
	var attacks []attempt
	for _, protocol := range []string{"WebSocket", "SPDY"} {
		attacks = append(attacks, attempt{what + ", over " + protocol, func() error {
			return c.executes(protocol, pod, corev1.PodExecOptions{Container: container, Command: command, Stdin: true, Stdout: true, Stderr: !tty, TTY: tty})
		}})
	}
	return attacks
}
