package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// world is what the operator of a plan works on: a namespace of the API server, with a pod
// on a node of its own.
type world struct {
	t          *testing.T
	namespace  string
	containers *fakenode.Containers
	kubelet    *fakenode.Kubelet
	proxy      *proxy
	exporter   *v1alpha1.PrometheusJmxExporter

	mu sync.Mutex
	// wanted is the content of the ConfigMap by the scenario.
	wanted string
	// pod is the one that runs, and jvms are all that ever ran.
	pod     *corev1.Pod
	address string
	jvms    []*fakenode.JVM
	// refusing are those that refuse attachers, one beside each.
	refusing []*fakenode.JVM
	// spent are containers that have ended.
	spent []*fakenode.Container
	// broken are the rules that were broken.
	broken []string
	// deleted are the records that the test has deleted, in each state since.
	deleted []v1alpha1.JmxAttachment
	// calls are the operations of the helper, in order.
	calls []string
}

const (
	podName, containerName = "app-0", "app"
	exporterName           = "exporter"
	rulesName, rulesKey    = "rules", "config.yaml"
	rules                  = "rules:\n- pattern: '.*'\n"
	otherRules             = "lowercaseOutputName: true\n" + rules
	port                   = 9400
)

var (
	namespaces atomic.Int32
	serial     atomic.Uint64
)

// newWorld creates a world.
func newWorld(t *testing.T) *world {
	t.Helper()
	name := fmt.Sprintf("faults-%04d", namespaces.Add(1))
	w := &world{t: t, namespace: name, containers: fakenode.New(t)}
	w.containers.OnCall, w.containers.OnEnd = w.observe, w.inspect
	w.kubelet = fakenode.NewKubelet(w.containers)
	t.Cleanup(w.kubelet.Close)
	var err error
	if w.proxy, err = newProxy(w.serves); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.proxy.server.Close)
	w.must(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	w.must(w.kubelet.Register(t.Context(), admin, name)) // a node of the same name
	w.run()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// run creates the pod and runs its container.
func (w *world) run() {
	w.t.Helper()
	pod := w.createPod(podName)
	w.mu.Lock()
	w.pod, w.address = pod, nextAddress()
	w.mu.Unlock()
	w.startContainer()
}

// createPod creates a pod, whose container does not run yet.
func (w *world) createPod(name string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: w.named(name)}
	pod.Labels = map[string]string{"app": "dummyapp"}
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = w.namespace, new(int64(0))
	pod.Spec.Containers = []corev1.Container{{Name: containerName, Image: "registry.example/app"}}
	w.must(admin.Create(w.t.Context(), pod))
	w.kubelet.Run(pod, pod.UID)
	return pod
}

// nextAddress returns an address that no pod has.
func nextAddress() string {
	n := serial.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

// nextContainer returns the ID of another container, and the JVM in it.
func nextContainer() (id string, jvm *fakenode.JVM) {
	n := serial.Add(1)
	return fmt.Sprintf("containerd://%064x", n), fakenode.NewJVM(fakenode.JavaStartTime + n)
}

// startContainer starts the pod's container, in place of the one that runs.
func (w *world) startContainer() {
	w.t.Helper()
	id, jvm := nextContainer()
	w.mu.Lock()
	defer w.mu.Unlock()
	if before := w.containers.Get(w.pod.UID, containerName); before != nil {
		w.spent = append(w.spent, before)
	}
	refuses := fakenode.NewJVM(jvm.StartTime)
	refuses.PID, refuses.Refusal = jvm.PID+1, &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "The JVM refuses attachers."}
	w.jvms, w.refusing = append(w.jvms, jvm), append(w.refusing, refuses)
	w.containers.Start(w.pod.UID, containerName, jvm, refuses).ID = id
	w.runs(w.pod, w.address, id)
}

// runs states in the API that the pod's container runs, as its kubelet does, whatever the
// operator writes meanwhile.
func (w *world) runs(pod *corev1.Pod, address, id string) {
	w.t.Helper()
	before := pod.DeepCopy()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: containerName, Ready: true, ContainerID: id,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}},
		}},
	}
	w.must(admin.Status().Patch(w.t.Context(), pod, client.MergeFrom(before)))
}

// recreate deletes the pod, and creates another one of its name.
func (w *world) recreate() {
	w.t.Helper()
	w.mu.Lock()
	w.spent = append(w.spent, w.containers.Get(w.pod.UID, containerName))
	w.containers.Remove(w.pod.UID, containerName)
	w.must(admin.Delete(w.t.Context(), w.pod, client.GracePeriodSeconds(0)))
	w.mu.Unlock()
	w.run()
}

// serves reports whether the pod with this address serves a port.
func (w *world) serves(address string, port int32) bool {
	w.mu.Lock()
	uid, serves := w.pod.UID, w.address == address
	w.mu.Unlock()
	return serves && slices.Contains(w.containers.Listening(uid, containerName), port)
}

// export creates the exporter and its ConfigMap.
func (w *world) export() {
	w.t.Helper()
	w.want(rules)
	w.createExporter()
}

// createExporter creates the exporter, also in place of one that is gone.
func (w *world) createExporter() {
	w.t.Helper()
	w.exporter = &v1alpha1.PrometheusJmxExporter{ObjectMeta: w.named(exporterName), Spec: v1alpha1.PrometheusJmxExporterSpec{
		LabelSelector: map[string]v1alpha1.LabelValue{"app": "dummyapp"},
		Config:        v1alpha1.ConfigMapKey{ConfigMapName: rulesName, ConfigMapKey: rulesKey},
		Port:          port,
		// Containers are replaced soon after an attach.
		Rollout: v1alpha1.Rollout{RestartWindow: &metav1.Duration{}},
	}}
	w.must(admin.Create(w.t.Context(), w.exporter))
}

// want makes a content that which the scenario ends a step with.
func (w *world) want(content string) {
	w.t.Helper()
	w.wanted = content
	w.configure(content)
}

// deleteRules deletes the ConfigMap.
func (w *world) deleteRules() {
	w.t.Helper()
	w.must(client.IgnoreNotFound(admin.Delete(w.t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(rulesName)})))
}

func (w *world) configure(content string) {
	w.t.Helper()
	configMap := &corev1.ConfigMap{ObjectMeta: w.named(rulesName), Data: map[string]string{rulesKey: content}}
	if err := admin.Create(w.t.Context(), configMap); client.IgnoreAlreadyExists(err) != nil {
		w.t.Fatal(err)
	} else if err != nil {
		w.must(admin.Update(w.t.Context(), configMap))
	}
}

// depose makes another replica the leader.
func (w *world) depose() {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: w.named("jmx-exporter-operator")}
	for range 20 { // the leader renews it meanwhile
		w.must(admin.Get(w.t.Context(), client.ObjectKeyFromObject(lease), lease))
		lease.Spec.HolderIdentity = new("another")
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		if admin.Update(w.t.Context(), lease) == nil {
			return
		}
	}
	w.t.Fatal("the Lease cannot be taken")
}

// garbageCollect does the work of Kubernetes' garbage collector: it deletes what is owned
// by an object that is gone.
func (w *world) garbageCollect(ctx context.Context) error {
	living := map[types.UID]bool{}
	if err := w.each(ctx, func(o client.Object) error { living[o.GetUID()] = true; return nil }, &corev1.PodList{}, &v1alpha1.PrometheusJmxExporterList{}); err != nil {
		return err
	}
	return w.each(ctx, func(o client.Object) error {
		owner := metav1.GetControllerOf(o)
		if owner == nil && len(o.GetOwnerReferences()) > 0 {
			owner = &o.GetOwnerReferences()[0]
		}
		if owner == nil || living[owner.UID] {
			return nil
		}
		return client.IgnoreNotFound(admin.Delete(ctx, o, client.GracePeriodSeconds(0)))
	}, &v1alpha1.JmxAttachmentList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{})
}

// replaced returns text with the names and IDs of this world's objects by their roles.
func (w *world) replaced(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.NewReplacer(
		w.namespace, "NAMESPACE", string(w.pod.UID), "POD-UID", string(w.exporter.UID), "EXPORTER-UID", w.address, "POD-IP",
		w.pod.Status.ContainerStatuses[0].ContainerID, "CONTAINER-ID", fmt.Sprint(w.jvms[len(w.jvms)-1].StartTime), "START-TIME",
	).Replace(text)
}
