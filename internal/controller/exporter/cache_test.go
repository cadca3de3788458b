package exporter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// shop is the namespace of these tests.
const shop = "shop"

// cache is a client.Reader that hands out what it keeps, as the operator's does, and
// counts the records that are listed and copied.
type cache struct {
	objects        []client.Object
	listed, copied int
}

// Get implements client.Reader.
func (c *cache) Get(_ context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	o := &client.GetOptions{}
	o.ApplyOptions(options)
	for _, kept := range c.objects {
		if client.ObjectKeyFromObject(kept) != key {
			continue
		}
		switch into := into.(type) {
		case *v1alpha1.JmxAttachment:
			if kept, ok := kept.(*v1alpha1.JmxAttachment); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*v1alpha1.JmxAttachment)
				return nil
			}
		case *v1alpha1.PrometheusJmxExporter:
			if kept, ok := kept.(*v1alpha1.PrometheusJmxExporter); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*v1alpha1.PrometheusJmxExporter)
				return nil
			}
		case *corev1.Pod:
			if kept, ok := kept.(*corev1.Pod); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*corev1.Pod)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(corev1.Resource("things"), key.Name)
}

// List implements client.Reader.
func (c *cache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	var found []runtime.Object
	for _, kept := range c.objects {
		if !lists(list, kept) || kept.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(kept)) {
			continue
		}
		if a, ok := kept.(*v1alpha1.JmxAttachment); ok {
			if o.FieldSelector != nil && !o.FieldSelector.Matches(fields.Set{"spec.exporter.uid": string(a.Spec.Exporter.UID)}) {
				continue
			}
			c.listed++
		}
		found = append(found, c.hand(kept, o.UnsafeDisableDeepCopy))
	}
	return apimeta.SetList(list, found)
}

func lists(list client.ObjectList, object client.Object) bool {
	switch object.(type) {
	case *v1alpha1.JmxAttachment:
		_, ok := list.(*v1alpha1.JmxAttachmentList)
		return ok
	case *v1alpha1.PrometheusJmxExporter:
		_, ok := list.(*v1alpha1.PrometheusJmxExporterList)
		return ok
	case *corev1.Pod:
		_, ok := list.(*corev1.PodList)
		return ok
	}
	return false
}

type labelsOfObject map[string]string

// Has implements labels.Labels.
func (l labelsOfObject) Has(label string) bool { _, ok := l[label]; return ok }

// Get implements labels.Labels.
func (l labelsOfObject) Get(label string) string { return l[label] }

// Lookup implements labels.Labels.
func (l labelsOfObject) Lookup(label string) (string, bool) { value, ok := l[label]; return value, ok }

func labelsOf(o client.Object) labelsOfObject { return o.GetLabels() }

func (c *cache) hand(kept client.Object, shared *bool) client.Object {
	if shared != nil && *shared {
		return kept
	}
	if _, ok := kept.(*v1alpha1.JmxAttachment); ok {
		c.copied++
	}
	return kept.DeepCopyObject().(client.Object)
}

// accepting is an API server that accepts each apply, and counts the records.
type accepting struct {
	client.Client
	granted []string
}

// Apply implements client.Client.
func (a *accepting) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	if named, ok := object.(interface{ GetName() *string }); ok {
		a.granted = append(a.granted, *named.GetName())
	}
	return nil
}

// Status implements client.Client.
func (a *accepting) Status() client.SubResourceWriter { return acceptingStatus{} }

type acceptingStatus struct{ client.SubResourceWriter }

// Apply implements client.SubResourceWriter.
func (acceptingStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return nil
}

// fill adds an exporter of the namespace and pods of it, each with a record.
func (c *cache) fill(name string, pods int) {
	exporter := &v1alpha1.PrometheusJmxExporter{}
	exporter.Namespace, exporter.Name, exporter.UID, exporter.ResourceVersion = shop, name, types.UID(name), "1"
	exporter.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}
	exporter.Spec.Rollout.MaxConcurrent, exporter.Spec.Rollout.MaxConcurrentPerNode = 1000, 1000
	c.objects = append(c.objects, exporter)
	for i := range pods {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.Labels = shop, fmt.Sprintf("%s-%d", name, i), map[string]string{"app": name}
		pod.UID, pod.Status.Phase, pod.Status.PodIP = types.UID(pod.Name), corev1.PodRunning, "10.0.0.1"
		a := &v1alpha1.JmxAttachment{}
		a.Namespace, a.Name, a.UID = shop, selection.AttachmentName(pod), types.UID("record of "+pod.Name)
		a.Labels = map[string]string{v1alpha1.LabelExporterUID: name}
		a.Spec.Pod = v1alpha1.ObjectIdentity{Name: pod.Name, UID: pod.UID}
		a.Spec.Exporter = v1alpha1.ObjectIdentity{Name: name, UID: exporter.UID}
		a.Spec.Revision = "r"
		a.Status = servingStatus()
		c.objects = append(c.objects, pod, a)
	}
}

func servingStatus() v1alpha1.JmxAttachmentStatus {
	return v1alpha1.JmxAttachmentStatus{
		Phase:      v1alpha1.PhaseAnnotated,
		Revision:   "r",
		Conditions: []metav1.Condition{{Type: "Exposed", Status: metav1.ConditionTrue, Reason: "EndpointPublished", Message: "It answers.", LastTransitionTime: metav1.NewTime(now)}},
		Containers: []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "1", Time: new(metav1.NewTime(now))}},
		Processes: []v1alpha1.JavaProcess{{
			Container: "app", ContainerID: "1", PID: 7, Phase: v1alpha1.PhaseExposed, Port: 9400, Primary: true,
			Endpoint: &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator},
		}},
	}
}

func (c *cache) reconciler() (*Reconciler, *accepting) {
	api := &accepting{}
	return &Reconciler{
		Reader: c, Live: c, Writer: records.New(apply.New(api, effects.Direct)), Source: source.New(c, c), Artifacts: &steps.Artifacts{},
		Recorder: events.NewFakeRecorder(100), Clock: testclock.NewFakePassiveClock(now),
	}, api
}

// A reconcile of one exporter looks at its own records, copies none, and changes
// nothing of what the cache keeps.
func TestReconcileSharesTheCache(t *testing.T) {
	c := &cache{}
	c.fill("large", 200)
	c.fill("small", 3)
	var before []client.Object
	for _, o := range c.objects {
		before = append(before, o.DeepCopyObject().(client.Object))
	}
	r, _ := c.reconciler()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: shop, Name: "small"}}); err != nil {
		t.Fatal(err)
	}
	if c.listed != 3 || c.copied != 0 {
		t.Errorf("%d records were listed, and %d copied, for 3 pods", c.listed, c.copied)
	}
	if diff := cmp.Diff(before, c.objects); diff != "" {
		t.Errorf("the cache was changed (-before +after):\n%s", diff)
	}
}

// The record of a pod that comes from another exporter is found and taken over.
func TestReconcileFindsRecordsOfOthers(t *testing.T) {
	c := &cache{}
	c.fill("large", 2)
	c.fill("small", 1)
	moved, record := c.objects[1].(*corev1.Pod), c.objects[2].(*v1alpha1.JmxAttachment)
	moved.Labels = map[string]string{"app": "small"}
	r, _ := c.reconciler()
	for name, want := range map[string][]types.UID{"small": {record.UID, "record of small-0"}, "large": {"record of large-1"}} {
		exporter := &v1alpha1.PrometheusJmxExporter{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: name}, exporter); err != nil {
			t.Fatal(err)
		}
		f, err := r.observe(t.Context(), exporter)
		if err != nil {
			t.Fatal(err)
		}
		var got []types.UID
		for _, m := range f.members {
			got = append(got, m.attachment.UID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whom an event of a record wakes: its own exporter, for what that sums up, and of a
// record that is deleted also the one that is to make it anew.
func TestOfAttachment(t *testing.T) {
	type change func(*v1alpha1.JmxAttachment)
	for name, tc := range map[string]struct {
		after   change // of a record that is updated
		created bool
		deleted bool
		podOf   string // whose label the pod has then
		want    []string
	}{
		"it is created": {created: true, want: []string{"small"}},
		"it is deleted": {deleted: true, want: []string{"small"}},
		"it is deleted, and the pod is another's": {deleted: true, podOf: "large", want: []string{"small", "large"}},
		"it is deleted, and the pod is nobody's":  {deleted: true, podOf: "nobody", want: []string{"small"}},
		"nothing changes":                         {after: func(*v1alpha1.JmxAttachment) {}},
		"its phase":                               {after: func(a *v1alpha1.JmxAttachment) { a.Status.Phase = v1alpha1.PhaseExposed }, want: []string{"small"}},
		"its reason":                              {after: func(a *v1alpha1.JmxAttachment) { a.Status.Reason = v1alpha1.ReasonBusy }, want: []string{"small"}},
		"its revision":                            {after: func(a *v1alpha1.JmxAttachment) { a.Status.Revision = "s" }, want: []string{"small"}},
		"its endpoint":                            {after: func(a *v1alpha1.JmxAttachment) { a.Status.Processes[0].Endpoint = nil }, want: []string{"small"}},
		"it is exposed since another time":        {after: func(a *v1alpha1.JmxAttachment) { a.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, want: []string{"small"}},
		"a restart":                               {after: func(a *v1alpha1.JmxAttachment) { a.Status.Restart = &v1alpha1.Restart{} }, want: []string{"small"}},
		"its exporter": {after: func(a *v1alpha1.JmxAttachment) {
			a.Spec.Exporter = v1alpha1.ObjectIdentity{Name: "large", UID: "large"}
		}, want: []string{"small", "large"}},
		"its containers are known now":   {after: func(a *v1alpha1.JmxAttachment) { a.Status.Containers[0].Time = nil }, want: []string{"small"}},
		"a try":                          {after: func(a *v1alpha1.JmxAttachment) { a.Status.Attempt = &v1alpha1.Attempt{Count: 1} }, want: []string{"small"}},
		"a container is inspected again": {after: func(a *v1alpha1.JmxAttachment) { a.Status.Containers[0].Time = new(metav1.NewTime(now.Add(time.Hour))) }},
		"a process is tried again": {after: func(a *v1alpha1.JmxAttachment) {
			a.Status.Processes[0].Attempt, a.Status.Processes[0].Message = &v1alpha1.Attempt{Count: 9}, "No."
		}},
		"a container is tried again": {after: func(a *v1alpha1.JmxAttachment) {
			a.Status.Containers[0].Attempt, a.Status.Containers[0].Message = &v1alpha1.Attempt{Count: 9}, "No."
		}},
		"its annotations are restored": {after: func(a *v1alpha1.JmxAttachment) { a.Status.Restores = &v1alpha1.Restores{Count: 2} }},
		"somebody annotates it":        {after: func(a *v1alpha1.JmxAttachment) { a.Annotations, a.ResourceVersion = map[string]string{"a": "b"}, "2" }},
	} {
		c := &cache{}
		c.fill("large", 1)
		c.fill("small", 1)
		pod, before := c.objects[4].(*corev1.Pod), c.objects[5].(*v1alpha1.JmxAttachment)
		if tc.podOf != "" {
			pod.Labels = map[string]string{"app": tc.podOf}
		}
		after := before.DeepCopy()
		from, to := &before, &after
		switch {
		case tc.created:
			from = nil
		case tc.deleted:
			to = nil
		default:
			tc.after(after)
		}
		r, _ := c.reconciler()
		var got []string
		for _, request := range r.ofAttachment(t.Context(), from, to) {
			got = append(got, request.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.copied > 0 {
			t.Errorf("%s: %d records were copied", name, c.copied)
		}
	}
}

// A record that is tried again and again wakes its exporter for the first few tries
// only, with which it counts.
func TestTriesEndTheEvents(t *testing.T) {
	c := &cache{}
	c.fill("small", 1)
	r, _ := c.reconciler()
	before := c.objects[2].(*v1alpha1.JmxAttachment)
	events := 0
	for count := range int32(1000) {
		after := before.DeepCopy()
		after.Status.Attempt = &v1alpha1.Attempt{Key: "k", Count: count + 1, LastError: fmt.Sprint(count), NextTime: new(metav1.NewTime(now.Add(time.Duration(count) * time.Second)))}
		events += len(r.ofAttachment(t.Context(), &before, &after))
		before = after
	}
	if events < 6 || events > 20 {
		t.Errorf("%d events of 1000 tries", events)
	}
}
