package orphan

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aPod returns a pod whose annotations are owned by a field manager.
func aPod(manager string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "app-0", UID: "pod", Labels: map[string]string{"app": "dummyapp"},
		Annotations: map[string]string{v1alpha1.AnnotationPort: "9400"},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:banzaicloud.com/jmx-attachment":{},"f:prometheus.io/port":{}}}}`),
		}},
	}}
	if manager == ours {
		pod.Annotations[v1alpha1.AnnotationFlag] = selection.AttachmentName(pod)
	}
	pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return pod
}

const ours = string(records.OwnerPodAnnotations)

// world is the content of a reader.
type world struct {
	client.Reader
	pod       *corev1.Pod
	record    *v1alpha1.JmxAttachment
	exporters []v1alpha1.PrometheusJmxExporter
}

// Get implements client.Reader.
func (w *world) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch o := object.(type) {
	case *corev1.Pod:
		if w.pod != nil && key == client.ObjectKeyFromObject(w.pod) {
			w.pod.DeepCopyInto(o)
			return nil
		}
	case *v1alpha1.JmxAttachment:
		if w.record != nil && key.Name == selection.AttachmentName(w.pod) {
			w.record.DeepCopyInto(o)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List implements client.Reader.
func (w *world) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.PrometheusJmxExporterList).Items = w.exporters
	return nil
}

// api is an API server that accepts each apply.
type api struct {
	client.Client
	applied []*ac.JmxAttachmentApplyConfiguration
	// withdrawn is how often the annotations of a pod were removed.
	withdrawn int
}

// Apply implements client.Client.
func (a *api) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	if record, ok := object.(*ac.JmxAttachmentApplyConfiguration); ok {
		a.applied = append(a.applied, record)
		return nil
	}
	if len(object.(*corev1ac.PodApplyConfiguration).Annotations) > 0 {
		return errors.New("annotations are added")
	}
	a.withdrawn++
	return nil
}

// The pods that get a record for a detach: those with annotations of the operator,
// but neither record nor exporter, as confirmed by the API server.
func TestReconcile(t *testing.T) {
	selecting := func(app string) func(*world) {
		return func(w *world) {
			e := v1alpha1.PrometheusJmxExporter{}
			e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(app)}
			w.exporters = append(w.exporters, e)
		}
	}
	recorded := func(w *world) { w.record = &v1alpha1.JmxAttachment{} }
	unflagged := func(w *world) { delete(w.pod.Annotations, v1alpha1.AnnotationFlag) }
	of := func(manager string) func(*world) { return func(w *world) { w.pod = aPod(manager) } }
	// The deleted record had an agent in a container.
	lost := func(id string) *v1alpha1.JmxAttachment {
		a := &v1alpha1.JmxAttachment{}
		a.Namespace, a.Spec.Pod.Name, a.Spec.Pod.UID = "shop", "app-0", "pod"
		a.Status.Processes = []v1alpha1.JavaProcess{{Container: "app", ContainerID: id, Intent: &v1alpha1.LoadIntent{}}}
		return a
	}
	optOut := func(w *world) { w.pod.Annotations[v1alpha1.AnnotationOptOut] = "true" }
	for name, tc := range map[string]struct {
		both, live []func(*world) // content of both cache and API server; of the API server only
		lost       *v1alpha1.JmxAttachment
		want       bool
		withdraws  bool
	}{
		"neither record nor exporter exists":                         {want: true},
		"the record exists":                                          {both: []func(*world){recorded}},
		"the record is not in the cache yet":                         {live: []func(*world){recorded}},
		"the exporter exists":                                        {both: []func(*world){selecting("dummyapp")}},
		"the exporter is not in the cache yet":                       {live: []func(*world){selecting("dummyapp")}},
		"the exporter of another pod exists":                         {both: []func(*world){selecting("other")}, want: true},
		"the pod opted out, and its record is gone":                  {both: []func(*world){selecting("dummyapp"), optOut}, want: true},
		"the annotations are foreign":                                {both: []func(*world){of("kubectl")}},
		"the annotations are another operator's":                     {both: []func(*world){of("other-operator/pod-annotations")}},
		"the annotations have no owner":                              {both: []func(*world){unflagged, func(w *world) { w.pod.ManagedFields = nil }}},
		"the operator's flag is missing":                             {both: []func(*world){unflagged}, withdraws: true},
		"the flag is that of another pod":                            {both: []func(*world){func(w *world) { w.pod.Annotations[v1alpha1.AnnotationFlag] = "app-0-00000000" }}, withdraws: true},
		"the flag is missing, and the exporter exists":               {both: []func(*world){unflagged, selecting("dummyapp")}},
		"somebody else owns the flag":                                {both: []func(*world){func(w *world) { w.pod.ManagedFields[0].Manager = "kubectl" }}},
		"the annotations were removed, and the cache is stale":       {live: []func(*world){func(w *world) { w.pod.Annotations, w.pod.ManagedFields = nil, nil }}},
		"the pod is gone, and the cache is stale":                    {live: []func(*world){func(w *world) { w.pod = nil }}},
		"only an agent remains":                                      {both: []func(*world){of("kubectl")}, lost: lost("containerd://1"), want: true},
		"only an agent remains, and the exporter creates the record": {both: []func(*world){of("kubectl"), selecting("dummyapp")}, lost: lost("containerd://1")},
		"only an agent remains, and its container ended":             {both: []func(*world){of("kubectl")}, lost: lost("containerd://0")},
		"the pod is terminating":                                     {both: []func(*world){func(w *world) { w.pod.DeletionTimestamp = new(metav1.NewTime(now)) }}},
	} {
		cached, live, server := &world{pod: aPod(ours)}, &world{pod: aPod(ours)}, &api{}
		for _, how := range tc.both {
			how(cached)
			how(live)
		}
		for _, how := range tc.live {
			how(live)
		}
		r := &Reconciler{Reader: cached, Live: live, Writer: records.New(apply.New(server, effects.Direct))}
		if tc.lost != nil {
			r.ofAttachment(t.Context(), &tc.lost, nil)
		}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(aPod(ours))}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(server.applied) == 1; got != tc.want {
			t.Errorf("%s: record created: got %t, want %t", name, got, tc.want)
		}
		if got := server.withdrawn == 1; got != tc.withdraws {
			t.Errorf("%s: annotations removed: got %t, want %t", name, got, tc.withdraws)
		}
		for _, made := range server.applied {
			if *made.Name != selection.AttachmentName(live.pod) || *made.Spec.Pod.UID != "pod" || made.Spec.Exporter != nil || made.Labels != nil || made.Spec.Revision != nil {
				t.Errorf("%s: unexpected record %+v", name, made)
			}
		}
	}
}

// refusing is an API server that refuses each apply.
type refusing struct {
	client.Client
	with error
}

// Apply implements client.Client.
func (r refusing) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return r.with
}

// A record that cannot be created is tried again, also while its kind is missing: the CRDs
// may come back. In a namespace that is going, nothing is left to detach.
func TestRefusedRecord(t *testing.T) {
	going := apierrors.NewForbidden(schema.GroupResource{}, "app-0", nil)
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		refusal error
		retried bool
	}{
		"the kind is missing":    {apierrors.NewGenericServerResponse(404, "patch", schema.GroupResource{}, "app-0", "404 page not found", 0, true), true},
		"a webhook denies it":    {apierrors.NewForbidden(schema.GroupResource{}, "app-0", nil), true},
		"the namespace is going": {going, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{pod: aPod(ours)}
			r := &Reconciler{Reader: w, Live: w, Writer: records.New(apply.New(refusing{with: tc.refusal}, effects.Direct))}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.pod)})
			if retried := err != nil; retried != tc.retried {
				t.Errorf("retried: got %t (%v), want %t", retried, err, tc.retried)
			}
		})
	}
}

// The agents of a deleted record are remembered until the pod is detached.
func TestLost(t *testing.T) {
	record := func(pod string, intent bool) *v1alpha1.JmxAttachment {
		a := &v1alpha1.JmxAttachment{}
		a.Spec.Pod.UID = types.UID(pod)
		a.Status.Processes = []v1alpha1.JavaProcess{{Container: "app", ContainerID: "containerd://1"}}
		if intent {
			a.Status.Processes[0].Intent = &v1alpha1.LoadIntent{}
		}
		return a
	}
	pod := aPod(ours)
	key := client.ObjectKeyFromObject(pod)
	for name, tc := range map[string]struct {
		deleted *v1alpha1.JmxAttachment
		want    bool
	}{
		"an agent was loaded":                                {record("pod", true), true},
		"no agent was loaded":                                {record("pod", false), false},
		"an agent was loaded in an earlier pod of that name": {record("before", true), false},
	} {
		var l lost
		l.note(key, tc.deleted)
		if got := l.in(pod); got != tc.want {
			t.Errorf("%s: agent in the pod: got %t, want %t", name, got, tc.want)
		}
		l.forget(key)
		if l.in(pod) || len(l.agents) > 0 {
			t.Errorf("%s: the agent is not forgotten", name)
		}
	}
}

// An exporter recreates a deleted record, and is deleted before the pod was inspected: the
// state of the first record is still all that is known.
func TestLostTwice(t *testing.T) {
	inspected := []v1alpha1.InspectedContainer{{Name: "app", Time: new(metav1.NewTime(now))}}
	for name, tc := range map[string]struct {
		second v1alpha1.JmxAttachmentStatus
		want   int
	}{
		"the second record is empty":           {want: 1},
		"the second record has no agent":       {second: v1alpha1.JmxAttachmentStatus{Containers: inspected}},
		"the second record's pod was detached": {second: v1alpha1.JmxAttachmentStatus{DetachStartTime: new(metav1.NewTime(now)), DetachTimeout: metav1.Duration{Duration: time.Minute}}},
		"the second record's detach timed out": {second: v1alpha1.JmxAttachmentStatus{DetachStartTime: new(metav1.NewTime(now.Add(-time.Hour)))}},
		"the second record has an agent":       {second: v1alpha1.JmxAttachmentStatus{Containers: inspected, Processes: []v1alpha1.JavaProcess{{Container: "app", ContainerID: "containerd://1", AgentFound: true}}}, want: 1},
	} {
		w, server := &world{pod: aPod("kubectl")}, &api{}
		e := v1alpha1.PrometheusJmxExporter{}
		e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
		r := &Reconciler{Reader: w, Live: w, Writer: records.New(apply.New(server, effects.Direct)), Clock: testclock.NewFakePassiveClock(now)}
		reconcile := func() {
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.pod)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		first, second := &v1alpha1.JmxAttachment{}, &v1alpha1.JmxAttachment{}
		for _, a := range []*v1alpha1.JmxAttachment{first, second} {
			a.Namespace, a.Spec.Pod.Name, a.Spec.Pod.UID = "shop", "app-0", "pod"
		}
		first.Status.Processes = []v1alpha1.JavaProcess{{Container: "app", ContainerID: "containerd://1", Intent: &v1alpha1.LoadIntent{}}}
		r.ofAttachment(t.Context(), &first, nil)
		w.record, w.exporters = second, []v1alpha1.PrometheusJmxExporter{e}
		reconcile()
		second.Status = tc.second
		w.record, w.exporters = nil, nil
		r.ofAttachment(t.Context(), &second, nil)
		reconcile()
		if len(server.applied) != tc.want {
			t.Errorf("%s: records created: got %d, want %d", name, len(server.applied), tc.want)
		}
	}
}
