package orphan

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
)

// The events of a pod that trigger a reconciliation: not those of its status, or a pod
// that cannot be detached would be reconciled repeatedly.
func TestOfPod(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after *corev1.Pod
		how           func(*corev1.Pod)
		want          int
	}{
		"the pod exists at the start":             {after: aPod(ours), want: 1},
		"the pod exists with foreign annotations": {after: aPod("kubectl")},
		"the status changes":                      {before: aPod(ours), after: aPod(ours), how: func(pod *corev1.Pod) { pod.Status.PodIP = "10.0.0.1" }},
		"the labels change":                       {before: aPod(ours), after: aPod(ours), how: func(pod *corev1.Pod) { pod.Labels = nil }, want: 1},
		"the pod is annotated":                    {before: &corev1.Pod{}, after: aPod(ours), want: 1},
		"the pod is deleted":                      {before: aPod(ours)},
	} {
		if tc.how != nil {
			tc.how(tc.after)
		}
		present := func(pod *corev1.Pod) **corev1.Pod {
			if pod == nil {
				return nil
			}
			return &pod
		}
		if got := ofPod(t.Context(), present(tc.before), present(tc.after)); len(got) != tc.want {
			t.Errorf("%s: requests: got %v, want %d", name, got, tc.want)
		}
	}
}

// A deleted record triggers its pod, unless the detach timed out.
func TestOfAttachment(t *testing.T) {
	r := &Reconciler{Clock: testclock.NewFakePassiveClock(now)}
	a := &v1alpha1.JmxAttachment{}
	a.Spec.Pod.Name = "app-0"
	if got := r.ofAttachment(t.Context(), nil, &a); len(got) > 0 {
		t.Errorf("a new record: got requests %v, want none", got)
	}
	if got := r.ofAttachment(t.Context(), &a, nil); len(got) != 1 || got[0].Name != "app-0" {
		t.Errorf("a deleted record: got requests %v, want one for app-0", got)
	}
	a.Status.DetachTimeout.Duration = time.Minute
	for ago, want := range map[time.Duration]int{time.Second: 1, time.Minute: 0} {
		a.Status.DetachStartTime = new(metav1.NewTime(now.Add(-ago)))
		if got := r.ofAttachment(t.Context(), &a, nil); len(got) != want {
			t.Errorf("a record deleted %s after its detach began: got requests %v, want %d", ago, got, want)
		}
	}
}

// A detach that waits for capacity until its timeout has tried nothing: the agents of
// a record that is deleted meanwhile are not given up.
func TestOfAttachmentQueued(t *testing.T) {
	for name, tc := range map[string]struct {
		attempt *v1alpha1.Attempt
		want    int
	}{
		"nothing was tried": {want: 1},
		"a try failed":      {attempt: &v1alpha1.Attempt{Count: 3}},
	} {
		r := &Reconciler{Clock: testclock.NewFakePassiveClock(now)}
		a := &v1alpha1.JmxAttachment{}
		a.Status.DetachTimeout.Duration, a.Status.DetachStartTime = time.Minute, new(metav1.NewTime(now.Add(-2*time.Minute)))
		a.Status.Processes = []v1alpha1.JavaProcess{{Intent: &v1alpha1.LoadIntent{}, Attempt: tc.attempt}}
		if got := r.ofAttachment(t.Context(), &a, nil); len(got) != tc.want {
			t.Errorf("%s: requests: got %v, want %d", name, got, tc.want)
		}
	}
}

// behind is a cache with two pods that never catches up with the operator's writes.
type behind struct{ client.Reader }

// List implements client.Reader.
func (behind) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	list.(*corev1.PodList).Items = []corev1.Pod{*aPod(ours), *aPod("kubectl")}
	return nil
}

// An exporter that is deleted or changed may leave pods behind; a new one does not.
func TestOfExporter(t *testing.T) {
	r := &Reconciler{Reader: cached.Reader{Reader: behind{}}}
	e := &v1alpha1.PrometheusJmxExporter{}
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
	port, selector, deleted, other := e.DeepCopy(), e.DeepCopy(), e.DeepCopy(), e.DeepCopy()
	port.Generation, selector.Generation = 1, 1
	selector.Spec.LabelSelector["app"] = "other"
	deleted.DeletionTimestamp = new(metav1.Now())
	other.Spec.LabelSelector["app"] = "other"
	for name, tc := range map[string]struct {
		before, after **v1alpha1.PrometheusJmxExporter
		want          int
	}{
		"the exporter is created":                     {nil, &e, 0},
		"the status changes":                          {&e, &e, 0},
		"the port changes":                            {&e, &port, 0},
		"the selector changes":                        {&e, &selector, 1},
		"the exporter is deleted":                     {&e, nil, 1},
		"the exporter is about to be deleted":         {&e, &deleted, 1},
		"an exporter is deleted that selected others": {&other, nil, 0},
	} {
		if got := r.ofExporter(t.Context(), tc.before, tc.after); len(got) != tc.want {
			t.Errorf("%s: requests: got %v, want %d", name, got, tc.want)
		}
	}
}
