package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// forgedSlice returns an EndpointSlice that names the exporter as its controller, under the name
// that the operator would give its own. It lacks the label that only the operator may set.
func (f *fleet) forgedSlice(pod *corev1.Pod, port int32) *discoveryv1.EndpointSlice {
	service := selection.ServiceName(f.exporter)
	named := f.named(fmt.Sprintf("%s-%d-ipv4-1", service, port))
	named.Labels = map[string]string{v1alpha1.LabelExporterUID: string(f.exporter.UID), discoveryv1.LabelServiceName: service}
	named.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "PrometheusJmxExporter", Name: f.exporter.Name, UID: f.exporter.UID, Controller: new(true),
	}}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: named, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("metrics"), Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{pod.Status.PodIP}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}},
	}
}

// An EndpointSlice that somebody made like the operator's proves nothing about a pod, and is no
// obstacle: neither as it is, nor copied into the operator's own.
func TestForgedSlice(t *testing.T) {
	t.Parallel()
	for name, port := range map[string]int32{"of the port that the exporter serves": 9400, "of another port": 9405} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, alice := stampedFleet(t)
			f.withdraw(alice)
			pod := f.run(aPod("app-0"))
			forged := create(t, f.forgedSlice(pod, port))
			f.pods = []*corev1.Pod{pod}
			f.expect("the right is withdrawn", "Discovered NotAuthorized")
			f.o.settle()
			f.expectNotCalled("the right is withdrawn")

			f.bind("alice", mayAttach)
			f.reviewed(true)
			for range 2 {
				f.later(10 * time.Minute)
				f.o.settle()
			}
			f.expect("the requester has the right again", isAnnotated)
			f.expectSums("the requester has the right again", "1/1/1, Ready True AllAnnotated, Stalled False Reconciled")
			get(t, forged)
			if forged.Labels[discoveryv1.LabelManagedBy] != "" {
				t.Errorf("the operator took over the foreign EndpointSlice %s: %v", forged.Name, forged.Labels)
			}
		})
	}
}

// Whoever may change pods can use the name of the operator's field manager: the annotations that
// this owns are removed, and nothing is executed. The pod is protected, and no exporter selects it.
func TestForgedAnnotations(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"annotations for scrapes":           {v1alpha1.AnnotationPort: "9404", v1alpha1.AnnotationScrape: "true"},
		"the operator's flag":               {v1alpha1.AnnotationFlag: "app-0-12345678"},
		"both, with the name of the record": nil, // where the policies are missing: the pod is protected
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fleet{cluster: newCluster(t)}
			stop := f.manage()
			defer stop()
			p := aPod("app-0")
			p.pod.Spec.HostPID = true
			p.pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
			pod := f.run(p)
			if annotations == nil {
				annotations = map[string]string{v1alpha1.AnnotationPort: "9404", v1alpha1.AnnotationFlag: selection.AttachmentName(pod)}
			}
			forged := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Annotations: annotations}}
			if err := admin.Patch(t.Context(), forged, client.Apply, client.FieldOwner("jmx-exporter-operator/pod-annotations")); err != nil { //nolint:staticcheck // of an object as an attacker writes it
				t.Fatal(err)
			}
			eventually(t, func() bool { return len(f.annotations(pod)) == 0 && f.attachment(pod) == nil })
			f.expectNotCalled("the annotations are forged")
		})
	}
}

// A record with a foreign finalizer that was deleted still follows its exporter, and says why
// it stays.
func TestRecordWithFinalizer(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.expect("at first", isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	record := f.attachment(f.pods[0])
	change(t, record, func(r *v1alpha1.JmxAttachment) { r.Finalizers = never })
	remove(t, record)
	f.later(time.Minute)
	f.configure(changed)
	f.expectAsked("the configuration changes", "2")
	f.later(2 * time.Minute)
	f.expect("the configuration changes", isAnnotated)
	says := func() string {
		return meta.FindStatusCondition(f.attachment(f.pods[0]).Status.Conditions, v1alpha1.ConditionReady).Message
	}
	if got := says(); !strings.Contains(got, never[0]) || !strings.Contains(got, "metadata.finalizers") {
		t.Errorf("message of Ready does not say what keeps the record: %q", got)
	}
	agent := f.jvm(f.pods[0])
	remove(t, f.exporter)
	f.garbageCollect()
	f.o.settle()
	if f.containers.Serves(agent) || len(f.annotations(f.pods[0])) > 0 {
		t.Errorf("the pod is not detached: annotations %v", f.annotations(f.pods[0]))
	}
	if got := says(); !strings.Contains(got, "has detached") || !strings.Contains(got, never[0]) {
		t.Errorf("message of Ready: got %q", got)
	}
	f.containers.Called()
	f.o.settle()
	f.expectNotCalled("the pod is detached")
	change(t, f.attachment(f.pods[0]), func(r *v1alpha1.JmxAttachment) { r.Finalizers = nil })
	if a := f.attachment(f.pods[0]); a != nil {
		t.Errorf("the record still exists: %+v", a.Status)
	}
}

// A record that a foreign finalizer keeps, and whose detach timed out, is not tried again at
// each event of its pod, and says that the agent stays.
func TestRecordWithFinalizerTimesOut(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.expect("at first", isAnnotated)
	record := f.attachment(f.pods[0])
	change(t, record, func(r *v1alpha1.JmxAttachment) { r.Finalizers = never })
	remove(t, record)
	f.jvm(f.pods[0]).Stays = fault(v1alpha1.ReasonAttachTimeout)
	remove(t, f.exporter)
	f.garbageCollect()
	for range 4 {
		f.o.settle()
		f.later(40 * time.Second)
	}
	if got := meta.FindStatusCondition(f.attachment(f.pods[0]).Status.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(got, "Detach timed out after 2m0s; the agent in ") || !strings.Contains(got, never[0]) {
		t.Errorf("message of Ready: got %q", got)
	}
	f.containers.Called()
	reported := len(f.o.events.with("AgentLeft"))
	for range 5 {
		f.later(time.Minute)
		f.changeStatus(f.pods[0], func(status *corev1.PodStatus) {
			status.Conditions[0].LastTransitionTime = metav1.NewTime(f.clock.Now())
		})
		f.o.settle()
	}
	f.expectNotCalled("the pod changes")
	if later := len(f.o.events.with("AgentLeft")); reported != 1 || later != 0 {
		t.Errorf("AgentLeft Events: got %d after the timeout and %d later, want 1 and none", reported, later)
	}
	f.jvm(f.pods[0]).Stays = nil
	f.later(10 * time.Minute)
	f.o.settle()
	if f.containers.Serves(f.jvm(f.pods[0])) {
		t.Error("the agent is not stopped when it can be, ten minutes later")
	}
}
