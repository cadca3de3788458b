package integration

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// cluster is a namespace of the API server, with its scripted containers and a clock of
// its own.
type cluster struct {
	t          *testing.T
	namespace  string
	containers *containers
	clock      *testclock.FakePassiveClock
	checker    *checker
	// protection is that of operators that are started from now on.
	protection pod.Protection
	// requireLabel reports whether they require v1alpha1.LabelRules.
	requireLabel bool
	// artifacts are those of operators that are started from now on,
	// and listenEvery is the interval of their health checks; 0 for none.
	artifacts   *transport.Artifacts
	listenEvery time.Duration
	// nodeAgents are the node agents of the nodes; none if it is nil.
	nodeAgents *nodeAgents
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
		t: t, namespace: namespace.Name, containers: fakenode.New(t), checker: newChecker(), artifacts: artifacts,
		clock: testclock.NewFakePassiveClock(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)),
	}
}

// later advances the clock.
func (c *cluster) later(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

func create[T client.Object](t *testing.T, object T) T {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// get reads an object again; false if it does not exist.
func get(t *testing.T, object client.Object) bool {
	t.Helper()
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// change reads an object, changes it, and patches the difference: Update would
// write durations in another notation than the API's defaults.
func change[T client.Object](t *testing.T, object T, how func(T)) {
	t.Helper()
	if !get(t, object) {
		t.Fatalf("%T %s does not exist", object, object.GetName())
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

const rules = "rules:\n- pattern: '.*'\n"

// configure creates or updates the ConfigMap that exporters refer to.
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

// anExporter returns an exporter for the pods of aPod with the ConfigMap of
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

// attachment returns the JmxAttachment of the pod; nil if there is none.
func (c *cluster) attachment(pod *corev1.Pod) *v1alpha1.JmxAttachment {
	c.t.Helper()
	attachment := &v1alpha1.JmxAttachment{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: selection.AttachmentName(pod)}}
	if !get(c.t, attachment) {
		return nil
	}
	return attachment
}

// annotations returns the pod's current annotations.
func (c *cluster) annotations(pod *corev1.Pod) map[string]string {
	c.t.Helper()
	get(c.t, pod)
	return pod.Annotations
}

// slices returns the EndpointSlices of the exporter.
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

// endpoints lists all endpoints in EndpointSlices of the exporter: pod address:port.
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

// resourceVersions returns those of all objects of the namespace that the operator
// may write to: if they are equal, nothing was written.
func (c *cluster) resourceVersions() map[string]string {
	c.t.Helper()
	versions := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"pod": &corev1.PodList{}, "service": &corev1.ServiceList{}, "slice": &discoveryv1.EndpointSliceList{},
		"exporter": &v1alpha1.PrometheusJmxExporterList{}, "attachment": &v1alpha1.JmxAttachmentList{}, "revision": &appsv1.ControllerRevisionList{},
	} {
		c.list(list)
		each(c.t, list, func(object client.Object) {
			versions[kind+"/"+object.GetName()] = object.GetResourceVersion()
		})
	}
	return versions
}

// named returns the metadata of an object of the namespace.
func (c *cluster) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.namespace, Name: name}
}

// garbageCollect does the work of Kubernetes' garbage collector: it deletes what is owned
// by a pod or an exporter that is gone.
func (c *cluster) garbageCollect() {
	c.t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.JmxAttachmentList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &appsv1.ControllerRevisionList{}} {
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
