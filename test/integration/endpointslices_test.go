package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// 250 pods are in slices of at most 100, and a change of one pod writes one slice.
func TestEndpointSlices(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.exporter = s.export("exporter")
	var pods []*corev1.Pod
	for i := range 250 {
		pods = append(pods, s.run(aPod(fmt.Sprintf("app-%03d", i))))
	}
	reconcile := func() []string {
		t.Helper()
		o.did()
		if _, err := o.exporters.Reconcile(t.Context(), requestFor(s.exporter)); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(o.did(), func(effect string) bool { return strings.HasSuffix(effect, "/exporter-status") })
	}
	reconcile() // 200 records
	reconcile()
	for _, pod := range pods {
		s.answers(pod)
	}
	const slice = "apply jmx-exporter-operator/endpoints"
	if diff := cmp.Diff([]string{slice, slice, slice}, reconcile()); diff != "" {
		t.Errorf("EndpointSlices of 250 pods (-want +got):\n%s", diff)
	}
	spread := func() (spread map[string]string, sizes []int) {
		spread = map[string]string{}
		for _, slice := range s.slices(s.exporter) {
			sizes = append(sizes, len(slice.Endpoints))
			for _, endpoint := range slice.Endpoints {
				spread[endpoint.TargetRef.Name] = slice.Name
			}
		}
		slices.Sort(sizes)
		return spread, sizes
	}
	before, sizes := spread()
	if diff := cmp.Diff([]int{50, 100, 100}, sizes); diff != "" {
		t.Errorf("sizes of the EndpointSlices (-want +got):\n%s", diff)
	}
	if get(t, s.exporter); len(s.exporter.Status.MetricsEndpoints) != 250 || s.exporter.Status.Pods != "250/250" {
		t.Errorf("the status lists %d endpoints and pods %s, want 250 and 250/250", len(s.exporter.Status.MetricsEndpoints), s.exporter.Status.Pods)
	}
	if did := reconcile(); len(did) > 0 {
		t.Errorf("effects without a change: got %q, want none", did)
	}

	s.changeStatus(pods[7], func(status *corev1.PodStatus) { status.Conditions[0].Status = corev1.ConditionFalse })
	if diff := cmp.Diff([]string{slice}, reconcile()); diff != "" {
		t.Errorf("effects when one pod is not ready (-want +got):\n%s", diff)
	}
	for _, slice := range s.slices(s.exporter) {
		for _, endpoint := range slice.Endpoints {
			if ready := endpoint.TargetRef.Name != pods[7].Name; *endpoint.Conditions.Ready != ready || *endpoint.Conditions.Serving != ready {
				t.Errorf("endpoint of %s: got ready %t", endpoint.TargetRef.Name, *endpoint.Conditions.Ready)
			}
		}
	}

	remove(t, pods[8])
	s.garbageCollect()
	if diff := cmp.Diff([]string{slice}, reconcile()); diff != "" {
		t.Errorf("effects when one pod is deleted (-want +got):\n%s", diff)
	}
	delete(before, pods[8].Name)
	after, _ := spread()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("pods moved to another EndpointSlice:\n%s", diff)
	}

	young := s.run(aPod("app-999"))
	reconcile()
	s.answers(young)
	if diff := cmp.Diff([]string{slice}, reconcile()); diff != "" {
		t.Errorf("effects when one pod is created (-want +got):\n%s", diff)
	}
	after, _ = spread()
	delete(after, young.Name)
	if !maps.Equal(before, after) {
		t.Errorf("pods moved to another EndpointSlice")
	}
}

// answers sets the pod's record to Annotated.
func (s *story) answers(pod *corev1.Pod) {
	s.t.Helper()
	a := s.attachment(pod)
	now := metav1.NewTime(s.clock.Now())
	status := &v1alpha1.JmxAttachmentStatus{
		Phase:      v1alpha1.PhaseAnnotated,
		Revision:   a.Spec.Revision,
		Containers: []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "containerd://app", Time: &now}},
		Processes: []v1alpha1.JavaProcess{{
			Container: "app", ContainerID: "containerd://app", PID: javaPID, StartTime: javaStartTime, Port: port,
			Endpoint: &v1alpha1.Endpoint{Address: pod.Status.PodIP, Port: port, CheckedFrom: v1alpha1.CheckedFromOperator},
		}},
	}
	for _, phase := range v1alpha1.Phases() {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: string(phase), Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScrapable, LastTransitionTime: now,
		})
	}
	if err := writer().AttachmentStatus(s.t.Context(), a, status); err != nil {
		s.t.Fatal(err)
	}
}

// The EndpointSlices are in the form that consumers expect, with one family and one port each.
func TestSlicesByFamilyAndPort(t *testing.T) {
	t.Parallel()
	s, o := annotated(t)
	six := s.run(aPod("app-6").at("fd00::6"))
	o.settle()
	got := map[string]string{}
	for _, slice := range s.slices(s.exporter) {
		if slice.Labels[discoveryv1.LabelServiceName] != selection.ServiceName(s.exporter) || !metav1.IsControlledBy(&slice, s.exporter) {
			t.Errorf("EndpointSlice %s does not belong to the Service and the exporter: %v", slice.Name, slice.ObjectMeta)
		}
		endpoint := slice.Endpoints[0]
		got[slice.Name] = fmt.Sprintf("%s %s %s %d on %s", slice.AddressType, endpoint.Addresses[0], *slice.Ports[0].Name, *slice.Ports[0].Port, *endpoint.NodeName)
	}
	service := selection.ServiceName(s.exporter)
	want := map[string]string{
		service + "-9400-ipv4-1": fmt.Sprintf("IPv4 %s metrics 9400 on node-1", s.pod.Status.PodIP),
		service + "-9400-ipv6-1": fmt.Sprintf("IPv6 %s metrics 9400 on node-1", six.Status.PodIP),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("EndpointSlices (-want +got):\n%s", diff)
	}

	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	o.settle()
	s.prove(o) // after the canary, the other
	var ports []int32
	for _, slice := range s.slices(s.exporter) {
		ports = append(ports, *slice.Ports[0].Port)
	}
	if diff := cmp.Diff([]int32{9500, 9500}, ports); diff != "" {
		t.Errorf("EndpointSlices after the change (-want +got):\n%s", diff)
	}
	var list corev1.ServiceList
	known := client.MatchingLabels{"app.kubernetes.io/managed-by": "jmx-exporter-operator", "banzaicloud.com/exporter": "exporter"}
	s.list(&list, known) // without the UID, which is not known beforehand
	if len(list.Items) != 1 || list.Items[0].Labels[v1alpha1.LabelExporterUID] != string(s.exporter.UID) || list.Items[0].Spec.ClusterIP != corev1.ClusterIPNone || list.Items[0].Spec.Ports[0].Port != 9500 ||
		len(list.Items[0].Spec.Selector) > 0 || len(list.Items[0].Annotations) > 0 {
		t.Fatalf("unexpected Services: %+v", list.Items)
	}
	change(t, &list.Items[0], func(s *corev1.Service) { delete(s.Labels, "banzaicloud.com/exporter") })
	o.settle()
	if s.list(&list, known); len(list.Items) != 1 {
		t.Error("a label removed from the Service is not restored")
	}
}

// A Service that a user created under the operator's name is not changed, and gets no
// endpoints of the operator.
func TestServiceByHand(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	byHand := create(t, &corev1.Service{ObjectMeta: s.named(selection.ServiceName(s.exporter)), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}})
	before := byHand.DeepCopy()
	for range 5 {
		if _, err := o.round(); err == nil || !strings.Contains(err.Error(), "is not controlled by this exporter") {
			t.Errorf("got error %v, want one about the foreign Service", err)
		}
	}
	get(t, byHand)
	if diff := cmp.Diff(before, byHand); diff != "" {
		t.Errorf("the foreign Service was changed:\n%s", diff)
	}
	if got := s.slices(s.exporter); len(got) > 0 {
		t.Errorf("EndpointSlices were created for the foreign Service: %v", got)
	}
	if got := phaseOf(s.attachment(s.pod)); got != "Loaded EndpointPending" {
		t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "Loaded EndpointPending")
	}
	get(t, s.exporter)
	if ready := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionReady); s.exporter.Status.Pods != "0/1" || !strings.Contains(ready.Message, "is not controlled by this exporter") {
		t.Errorf("message of Ready: got %q with pods %s", ready.Message, s.exporter.Status.Pods)
	}

	remove(t, byHand)
	o.settle()
	s.isAnnotated("9400")
}
