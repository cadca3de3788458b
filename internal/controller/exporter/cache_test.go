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
	r := c.reconciler()
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
		r := c.reconciler()
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

// A record that is retried wakes its exporter for the first few tries
// only, with which it counts.
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
		t.Errorf("%d events of 1000 tries", events)
	}
}
