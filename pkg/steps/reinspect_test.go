package steps

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func readyFor(since time.Duration, status corev1.ConditionStatus) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(start.Add(-since))}}
}

// A pod that becomes ready is inspected once more, but not at once, and not in the same
// second as all others; a pod that was ready before is not, if its health is
// checked.
func TestReinspectAfter(t *testing.T) {
	const longest = reinspectDelay + reinspectSpread
	fromPod := func(s *scene) { s.Status().Processes[0].Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	neverAttached := func(s *scene) {
		p := &s.Status().Processes[0]
		s.Granted, s.Published, p.Endpoint, p.Intent, p.AgentFound = false, nil, nil, nil, false
	}
	for name, tc := range map[string]struct {
		conditions  []corev1.PodCondition
		inspected   time.Duration // ago
		wasReady    bool          // at the inspection
		how         func(*scene)
		unchecked   bool
		least, most time.Duration
	}{
		"the pod was ready before":                                   {conditions: readyFor(2*time.Hour, corev1.ConditionTrue), inspected: time.Hour, least: -1, most: -1},
		"the pod was never ready":                                    {inspected: time.Hour, least: -1, most: -1},
		"the pod is no longer ready":                                 {conditions: readyFor(0, corev1.ConditionFalse), inspected: time.Hour, least: -1, most: -1},
		"the pod became ready just now":                              {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: 10 * time.Second, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready just now, long after the inspection":   {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: time.Hour, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready a while ago":                           {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour},
		"the pod became ready, and is not granted":                   {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, how: func(s *scene) { s.Granted, s.Status().Processes[0].AgentFound = false, true }, least: -1, most: -1},
		"the pod became ready, and was never attached to":            {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, how: neverAttached},
		"the pod became ready again":                                 {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, least: -1, most: -1},
		"the pod became ready again, and cannot be reached":          {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, how: fromPod},
		"the pod became ready again just now, and cannot be reached": {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, how: fromPod, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready again, and has no health checks":       {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, unchecked: true},
	} {
		s := servingPod()
		s.Pod.Status.Conditions = tc.conditions
		if tc.how != nil {
			tc.how(s)
		}
		s.HealthChecks = !tc.unchecked
		entry := &v1alpha1.InspectedContainer{Name: "app", ContainerID: "containerd://1", Ready: tc.wasReady, Time: new(metav1.NewTime(start.Add(-tc.inspected)))}
		got := s.reinspectAfter(entry)
		if got < tc.least || got > tc.most {
			t.Errorf("%s: inspection in %s, want %s to %s", name, got, tc.least, tc.most)
		}
	}
}

// Pods of a fleet that become ready in the same second are not inspected at the same time,
// and not at all if they were ready before.
func TestReadinessOfAFleet(t *testing.T) {
	for name, again := range map[string]bool{"the pods become ready for the first time": false, "the pods become ready again": true} {
		seconds := map[time.Duration]int{}
		for i := range 300 {
			s := servingPod()
			s.Pod.UID, s.Pod.Status.Conditions = types.UID(fmt.Sprint("pod ", i)), readyFor(time.Second, corev1.ConditionTrue)
			entry := &v1alpha1.InspectedContainer{Name: "app", ContainerID: "containerd://1", Ready: again, Time: new(metav1.NewTime(start.Add(-time.Hour)))}
			after := s.reinspectAfter(entry)
			if after > 0 {
				after = after.Truncate(time.Second)
			}
			seconds[after]++
		}
		for at, pods := range seconds {
			if again != (at < 0) || !again && pods > 30 {
				t.Errorf("%s: %d of 300 pods are inspected in %s", name, pods, at)
			}
		}
	}
}
