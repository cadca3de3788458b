package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A pod without a JVM is inspected until an hour after the start of its containers, and after
// it lost its JVM, which a supervisor may start again; and once after each change that may
// lead to another result.
func TestSettled(t *testing.T) {
	const old, young = 48 * time.Hour, 30 * time.Minute
	for name, tc := range map[string]struct {
		age, without time.Duration
		found        metav1.ConditionStatus
		change       func(*scene)
		want         bool
	}{
		"the pod has never had a JVM":          {age: old, without: old, found: metav1.ConditionFalse, want: false},
		"the container is young":               {age: young, without: old, found: metav1.ConditionFalse, want: true},
		"a supervisor is about to start a JVM": {age: old, without: young, found: metav1.ConditionFalse, want: true},
		"the JVM has just exited":              {age: old, without: old, found: metav1.ConditionTrue, want: true},
		"the pod has just been matched":        {age: old, without: young, found: metav1.ConditionUnknown, want: true},
		"the start is not known":               {age: -1, without: old, found: metav1.ConditionFalse, want: true},
		"another transport is set": {age: old, without: old, found: metav1.ConditionFalse, want: true, change: func(s *scene) {
			s.Exporter.Spec.Transport = v1alpha1.TransportEphemeralContainer
		}},
		"the operator is upgraded": {age: old, without: old, found: metav1.ConditionFalse, want: true, change: func(s *scene) {
			s.Artifacts = &Artifacts{Agent: blob("another"), Implementation: blob("implementation")}
		}},
		"the rollout is resumed": {age: old, without: old, found: metav1.ConditionFalse, want: true, change: func(s *scene) {
			s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationResume: "x"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("app")
			s.inspectedWell()
			if tc.age > 0 {
				s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.Now.Add(-tc.age))
			}
			s.Begun.Conditions = []metav1.Condition{{Type: string(JavaFound), Status: tc.found, LastTransitionTime: metav1.NewTime(s.Now.Add(-tc.without))}}
			s.State = statemachine.State{Phase: Discovered, Reason: v1alpha1.ReasonNoJavaProcess, Attempt: &statemachine.Attempt{Key: s.Key(), Phase: JavaFound}}
			if tc.change != nil {
				tc.change(s)
			}
			if got := s.due(s.containers()[0]); got != tc.want {
				t.Errorf("the container is inspected: got %t, want %t", got, tc.want)
			}
		})
	}
}
