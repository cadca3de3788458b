package integration

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// cluster is a namespace of the API server, with the containers that the test
// imagines in it and a clock of its own.
type cluster struct {
	t          *testing.T
	namespace  string
	containers *containers
	clock      *testclock.FakePassiveClock
	checker    *checker
	// artifacts are what operators bring along that are started from now on,
	// and listenEvery is how often they ask an endpoint; 0 for never.
	artifacts   *transport.Artifacts
	listenEvery time.Duration
}

var (
	namespaces atomic.Int32
	addresses  atomic.Int32
	restarts   atomic.Uint64
)

func newCluster(t *testing.T) *cluster {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("test-%d", namespaces.Add(1))}}
	create(t, namespace)
	return &cluster{
		t: t, namespace: namespace.Name, containers: newContainers(), checker: newChecker(), artifacts: artifacts,
		clock: testclock.NewFakePassiveClock(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)),
	}
}

// later lets time pass.
func (c *cluster) later(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

func create[T client.Object](t *testing.T, object T) T {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// get reads an object again; false if it is gone.
func get(t *testing.T, object client.Object) bool {
	t.Helper()
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// change reads an object, changes it, and writes what is different: Update would
// write durations in another notation than the API's defaults have.
func change[T client.Object](t *testing.T, object T, how func(T)) {
	t.Helper()
	if !get(t, object) {
		t.Fatalf("%T %s is gone", object, object.GetName())
	}
	before := object.DeepCopyObject().(T)
	how(object)
	if err := admin.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Delete(t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

// podBuilder describes a pod to be; by default it has one container, app, with
// one JVM, carries the label app: dummyapp, and is Ready.
type podBuilder struct {
	pod     corev1.Pod
	address string
	jvms    map[string][]*jvm
}

func aPod(name string) *podBuilder {
	p := &podBuilder{jvms: map[string][]*jvm{}}
	p.pod.Name = name
	p.pod.Labels = map[string]string{"app": "dummyapp"}
	p.pod.Spec.NodeName = "node-1"
	p.pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	return p.container("app", aJVM(javaStartTime))
}

func (p *podBuilder) container(name string, jvms ...*jvm) *podBuilder {
	p.pod.Spec.Containers = append(p.pod.Spec.Containers, corev1.Container{Name: name, Image: "registry.example/" + name})
	p.jvms[name] = jvms
	return p
}

func (p *podBuilder) annotated(key, value string) *podBuilder {
	metav1.SetMetaDataAnnotation(&p.pod.ObjectMeta, key, value)
	return p
}

func (p *podBuilder) at(address string) *podBuilder {
	p.address = address
	return p
}

func (p *podBuilder) without(container string) *podBuilder {
	p.jvms[container] = nil
	return p
}

// run creates the pod and does what a kubelet would: its containers run.
func (c *cluster) run(p *podBuilder) *corev1.Pod {
	c.t.Helper()
	pod := p.pod.DeepCopy()
	pod.Namespace = c.namespace
	create(c.t, pod)
	if p.address == "" {
		n := addresses.Add(1)
		p.address = fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: p.address, PodIPs: []corev1.PodIP{{IP: p.address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, running(container.Name))
		c.containers.start(pod.UID, container.Name, p.jvms[container.Name]...)
	}
	c.updateStatus(pod)
	return pod
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: true, ContainerID: fmt.Sprintf("containerd://%s-%d", name, restarts.Add(1)),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
}

func (c *cluster) updateStatus(pod *corev1.Pod) {
	c.t.Helper()
	if err := admin.Status().Update(c.t.Context(), pod); err != nil {
		c.t.Fatal(err)
	}
}

// restart replaces a pod's container app: another ID, another JVM, no files.
func (c *cluster) restart(pod *corev1.Pod) {
	c.t.Helper()
	// It runs before anybody is told.
	c.containers.start(pod.UID, "app", aJVM(javaStartTime+restarts.Add(1)))
	c.changeStatus(pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0] = running("app")
	})
}

func (c *cluster) changeStatus(pod *corev1.Pod, how func(*corev1.PodStatus)) {
	c.t.Helper()
	get(c.t, pod)
	how(&pod.Status)
	c.updateStatus(pod)
}

// container is the pod's container app.
func (c *cluster) container(pod *corev1.Pod) *container { return c.containers.get(pod.UID, "app") }

// jvm is the only JVM in the pod's container app.
func (c *cluster) jvm(pod *corev1.Pod) *jvm { return c.container(pod).jvms[0] }

const rules = "rules:\n- pattern: '.*'\n"

// configure creates the ConfigMap that exporters name, or changes its content.
func (c *cluster) configure(content string) *corev1.ConfigMap {
	c.t.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "rules"},
		Data:       map[string]string{"config.yaml": content},
	}
	if get(c.t, &corev1.ConfigMap{ObjectMeta: configMap.ObjectMeta}) {
		if err := admin.Update(c.t.Context(), configMap); err != nil {
			c.t.Fatal(err)
		}
		return configMap
	}
	return create(c.t, configMap)
}

const port = 9400

// anExporter describes an exporter for the pods of aPod with the ConfigMap of
// configure.
func (c *cluster) anExporter(name string) *v1alpha1.PrometheusJmxExporter {
	return &v1alpha1.PrometheusJmxExporter{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: v1alpha1.PrometheusJmxExporterSpec{
			LabelSelector: map[string]v1alpha1.LabelValue{"app": "dummyapp"},
			Config:        v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "config.yaml"},
			Port:          port,
		},
	}
}

// export creates an exporter of this name, and the ConfigMap.
func (c *cluster) export(name string) *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	c.configure(rules)
	return create(c.t, c.anExporter(name))
}

// neverHalt lets containers end as soon after an attach as they like.
func (s *story) neverHalt() {
	s.t.Helper()
	change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Rollout.RestartWindow = &metav1.Duration{} })
}

// attachment is the record of the pod; nil if there is none.
func (c *cluster) attachment(pod *corev1.Pod) *v1alpha1.JmxAttachment {
	c.t.Helper()
	attachment := &v1alpha1.JmxAttachment{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: selection.AttachmentName(pod)}}
	if !get(c.t, attachment) {
		return nil
	}
	return attachment
}

// annotations are the pod's as it is now.
func (c *cluster) annotations(pod *corev1.Pod) map[string]string {
	c.t.Helper()
	get(c.t, pod)
	return pod.Annotations
}

// slices are the EndpointSlices of the exporter.
func (c *cluster) slices(exporter *v1alpha1.PrometheusJmxExporter) []discoveryv1.EndpointSlice {
	c.t.Helper()
	var list discoveryv1.EndpointSliceList
	c.list(&list, client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter.UID)})
	return list.Items
}

func (c *cluster) list(list client.ObjectList, options ...client.ListOption) {
	c.t.Helper()
	if err := admin.List(c.t.Context(), list, append(options, client.InNamespace(c.namespace))...); err != nil {
		c.t.Fatal(err)
	}
}

// endpoints are all that stands in EndpointSlices of the exporter: pod address:port.
func (c *cluster) endpoints(exporter *v1alpha1.PrometheusJmxExporter) string {
	c.t.Helper()
	var all []string
	for _, slice := range c.slices(exporter) {
		for _, endpoint := range slice.Endpoints {
			all = append(all, fmt.Sprintf("%s %s:%d", endpoint.TargetRef.Name, endpoint.Addresses[0], *slice.Ports[0].Port))
		}
	}
	return strings.Join(all, ", ")
}

// resourceVersions are those of all objects of the namespace that the operator
// may write to: equal means that nothing was written.
func (c *cluster) resourceVersions() map[string]string {
	c.t.Helper()
	versions := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"pod": &corev1.PodList{}, "service": &corev1.ServiceList{}, "slice": &discoveryv1.EndpointSliceList{},
		"exporter": &v1alpha1.PrometheusJmxExporterList{}, "attachment": &v1alpha1.JmxAttachmentList{},
	} {
		c.list(list)
		each(c.t, list, func(object client.Object) {
			versions[kind+"/"+object.GetName()] = object.GetResourceVersion()
		})
	}
	return versions
}

// named is an object of the namespace that is to be read.
func (c *cluster) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.namespace, Name: name}
}

// garbageCollect does what Kubernetes' garbage collector would: what is owned by
// a pod or an exporter that is gone goes too.
func (c *cluster) garbageCollect() {
	c.t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.JmxAttachmentList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}} {
		c.list(list)
		each(c.t, list, func(object client.Object) {
			owner := metav1.GetControllerOf(object)
			if owner == nil {
				return
			}
			var owning client.Object = &v1alpha1.PrometheusJmxExporter{ObjectMeta: c.named(owner.Name)}
			if owner.Kind == "Pod" {
				owning = &corev1.Pod{ObjectMeta: c.named(owner.Name)}
			}
			if !get(c.t, owning) || owning.GetUID() != owner.UID {
				remove(c.t, object)
			}
		})
	}
}

func each(t *testing.T, list client.ObjectList, do func(client.Object)) {
	t.Helper()
	err := meta.EachListItem(list, func(o runtime.Object) error {
		do(o.(client.Object))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
