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
)

// Which events of a pod make the operator look: not those of its status, or a pod
// that cannot be detached would be repeatedly.
func TestOfPod(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after *corev1.Pod
		how           func(*corev1.Pod)
		want          int
	}{
		"it is there at the start":            {after: aPod(ours), want: 1},
		"it is there, and not the operator's": {after: aPod("kubectl")},
		"its status changes":                  {before: aPod(ours), after: aPod(ours), how: func(pod *corev1.Pod) { pod.Status.PodIP = "10.0.0.1" }},
		"its labels change":                   {before: aPod(ours), after: aPod(ours), how: func(pod *corev1.Pod) { pod.Labels = nil }, want: 1},
		"it is annotated after all":           {before: &corev1.Pod{}, after: aPod(ours), want: 1},
		"it is gone":                          {before: aPod(ours)},
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
			t.Errorf("%s: it is about %v", name, got)
		}
	}
}

// A record that is deleted leaves its pod, unless its detach timed out.
func TestOfAttachment(t *testing.T) {
	r := &Reconciler{Clock: testclock.NewFakePassiveClock(now)}
	a := &v1alpha1.JmxAttachment{}
	a.Spec.Pod.Name = "app-0"
	if got := r.ofAttachment(t.Context(), nil, &a); len(got) > 0 {
		t.Errorf("a new record is about %v", got)
	}
	if got := r.ofAttachment(t.Context(), &a, nil); len(got) != 1 || got[0].Name != "app-0" {
		t.Errorf("a record that is deleted is about %v", got)
	}
	a.Status.DetachTimeout.Duration = time.Minute
	for ago, want := range map[time.Duration]int{time.Second: 1, time.Minute: 0} {
		a.Status.DetachStartTime = new(metav1.NewTime(now.Add(-ago)))
		if got := r.ofAttachment(t.Context(), &a, nil); len(got) != want {
			t.Errorf("a record that is deleted %s after its detach began is about %v", ago, got)
		}
	}
}

// A detach that waits for room has tried nothing when its time is over: the agents of
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
			t.Errorf("%s: it is about %v", name, got)
		}
	}
}

// behind is a cache with two pods that never catches up with what was written.
type behind struct{ client.Reader }

// List implements client.Reader.
func (behind) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits for ever")
	}
	list.(*corev1.PodList).Items = []corev1.Pod{*aPod(ours), *aPod("kubectl")}
	return nil
}

// An exporter that is deleted, or selects others, may leave pods; one that comes does not.
func TestOfExporter(t *testing.T) {
	r := &Reconciler{Reader: behind{}}
	e, changed := &v1alpha1.PrometheusJmxExporter{}, &v1alpha1.PrometheusJmxExporter{}
	changed.Generation++
	for name, tc := range map[string]struct {
		before, after **v1alpha1.PrometheusJmxExporter
		want          int
	}{
		"it comes":           {nil, &e, 0},
		"its status changes": {&e, &e, 0},
		"its spec changes":   {&e, &changed, 1},
		"it is deleted":      {&e, nil, 1},
	} {
		if got := r.ofExporter(t.Context(), tc.before, tc.after); len(got) != tc.want {
			t.Errorf("%s: it is about %v", name, got)
		}
	}
}
