package exporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A reconciliation of an exporter lists its own records only, copies none, and changes no
// object of the cache.
func TestReconcileSharesTheCache(t *testing.T) {
	c := &cache{}
	c.fill("large", 200)
	c.fill("small", 3)
	var before []client.Object
	for _, o := range c.objects {
		before = append(before, o.DeepCopyObject().(client.Object))
	}
	r := c.reconciler()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: shop, Name: "small"}}); err != nil {
		t.Fatal(err)
	}
	if c.listed != 3 || c.copied != 0 {
		t.Errorf("got %d records listed and %d copied, want 3 and none", c.listed, c.copied)
	}
	if diff := cmp.Diff(before, c.objects); diff != "" {
		t.Errorf("objects of the cache changed (-before +after):\n%s", diff)
	}
}

// The record of a pod that another exporter had is found and taken over.
func TestReconcileFindsRecordsOfOthers(t *testing.T) {
	c := &cache{}
	c.fill("large", 2)
	c.fill("small", 1)
	moved, record := c.objects[1].(*corev1.Pod), c.objects[2].(*v1alpha1.JmxAttachment)
	moved.Labels = map[string]string{"app": "small"}
	r := c.reconciler()
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
			t.Errorf("records of exporter %s (-want +got):\n%s", name, diff)
		}
	}
}

// The exporters that an event of a record triggers: its own, which summarizes it, and for a
// deleted record also the exporter that will recreate it.
func TestOfAttachment(t *testing.T) {
	type change func(*v1alpha1.JmxAttachment)
	for name, tc := range map[string]struct {
		after   change // of an updated record
		created bool
		deleted bool
		podOf   string // label of the pod then
		want    []string
	}{
		"the record is created": {created: true, want: []string{"small"}},
		"the record is deleted": {deleted: true, want: []string{"small"}},
		"the record is deleted, and another exporter selects the pod": {deleted: true, podOf: "large", want: []string{"small", "large"}},
		"the record is deleted, and no exporter selects the pod":      {deleted: true, podOf: "nobody", want: []string{"small"}},
		"nothing changes":                  {after: func(*v1alpha1.JmxAttachment) {}},
		"the phase changes":                {after: func(a *v1alpha1.JmxAttachment) { a.Status.Phase = v1alpha1.PhaseExposed }, want: []string{"small"}},
		"the reason changes":               {after: func(a *v1alpha1.JmxAttachment) { a.Status.Reason = v1alpha1.ReasonBusy }, want: []string{"small"}},
		"the revision changes":             {after: func(a *v1alpha1.JmxAttachment) { a.Status.Revision = "s" }, want: []string{"small"}},
		"the endpoint changes":             {after: func(a *v1alpha1.JmxAttachment) { a.Status.Processes[0].Endpoint = nil }, want: []string{"small"}},
		"the time of the exposure changes": {after: func(a *v1alpha1.JmxAttachment) { a.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, want: []string{"small"}},
		"a restart is recorded":            {after: func(a *v1alpha1.JmxAttachment) { a.Status.Restart = &v1alpha1.Restart{} }, want: []string{"small"}},
		"the exporter changes": {after: func(a *v1alpha1.JmxAttachment) {
			a.Spec.Exporter = v1alpha1.ObjectIdentity{Name: "large", UID: "large"}
		}, want: []string{"small", "large"}},
		"the containers become known":    {after: func(a *v1alpha1.JmxAttachment) { a.Status.Containers[0].Time = nil }, want: []string{"small"}},
		"the first retry is recorded":    {after: func(a *v1alpha1.JmxAttachment) { a.Status.Attempt = &v1alpha1.Attempt{Count: 1} }, want: []string{"small"}},
		"a container is inspected again": {after: func(a *v1alpha1.JmxAttachment) { a.Status.Containers[0].Time = new(metav1.NewTime(now.Add(time.Hour))) }},
		"a process is retried": {after: func(a *v1alpha1.JmxAttachment) {
			a.Status.Processes[0].Attempt, a.Status.Processes[0].Message = &v1alpha1.Attempt{Count: 9}, "No."
		}},
		"a container is retried": {after: func(a *v1alpha1.JmxAttachment) {
			a.Status.Containers[0].Attempt, a.Status.Containers[0].Message = &v1alpha1.Attempt{Count: 9}, "No."
		}},
		"its annotations are restored":  {after: func(a *v1alpha1.JmxAttachment) { a.Status.Restores = &v1alpha1.Restores{Count: 2} }},
		"a foreign annotation is added": {after: func(a *v1alpha1.JmxAttachment) { a.Annotations, a.ResourceVersion = map[string]string{"a": "b"}, "2" }},
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
		r := c.reconciler()
		var got []string
		for _, request := range r.ofAttachment(t.Context(), from, to) {
			got = append(got, request.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: triggered exporters (-want +got):\n%s", name, diff)
		}
		if c.copied > 0 {
			t.Errorf("%s: records copied: got %d, want none", name, c.copied)
		}
	}
}

// A retried record triggers its exporter only for the first few tries, which the rollout
// counts.
func TestTriesEndTheEvents(t *testing.T) {
	c := &cache{}
	c.fill("small", 1)
	r := c.reconciler()
	before := c.objects[2].(*v1alpha1.JmxAttachment)
	events := 0
	for count := range int32(1000) {
		after := before.DeepCopy()
		after.Status.Attempt = &v1alpha1.Attempt{Key: "k", Count: count + 1, LastError: fmt.Sprint(count), NextTime: new(metav1.NewTime(now.Add(time.Duration(count) * time.Second)))}
		events += len(r.ofAttachment(t.Context(), &before, &after))
		before = after
	}
	if events < 6 || events > 20 {
		t.Errorf("events of 1000 tries: got %d, want 6 to 20", events)
	}
}
