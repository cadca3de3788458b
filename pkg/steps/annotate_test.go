package steps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
)

// The count of restores of removed annotations within the window.
func TestRestored(t *testing.T) {
	now := aSituation().Now
	ago := func(count int32, d time.Duration) *v1alpha1.Restores {
		return &v1alpha1.Restores{Count: count, LastTime: metav1.NewTime(now.Add(-d))}
	}
	for name, tc := range map[string]struct {
		// reason is that of the condition Annotated; True if empty.
		reason string
		before *v1alpha1.Restores
		want   *v1alpha1.Restores
		// early reports that not all JVMs of the pod are exposed.
		early bool
	}{
		"the annotations are applied for the first time":                      {reason: v1alpha1.ReasonNotReached, before: nil, want: nil},
		"the annotations are applied after the endpoint was lost":             {reason: v1alpha1.ReasonNotReached, before: ago(3, time.Second), want: ago(3, time.Second)},
		"the annotations were removed":                                        {reason: v1alpha1.ReasonAnnotationLost, before: nil, want: ago(1, 0)},
		"the annotations existed when the reconciliation began":               {before: ago(1, time.Minute), want: ago(2, 0)},
		"another manager applied its own annotations":                         {reason: v1alpha1.ReasonAnnotationConflict, before: nil, want: ago(1, 0)},
		"the annotations were removed again":                                  {reason: v1alpha1.ReasonAnnotationLost, before: ago(1, 9*time.Minute), want: ago(2, 0)},
		"the annotations were removed too often":                              {reason: v1alpha1.ReasonAnnotationContested, before: ago(maxRestores, time.Minute), want: ago(maxRestores+1, 0)},
		"the last removal was ten minutes ago":                                {reason: v1alpha1.ReasonAnnotationLost, before: ago(5, restoreWindow), want: ago(1, 0)},
		"the annotations were contested until ten minutes ago":                {reason: v1alpha1.ReasonAnnotationContested, before: ago(5, time.Hour), want: ago(1, 0)},
		"the annotations are applied before a sibling is exposed":             {reason: v1alpha1.ReasonPortInUse, want: ago(1, 0), early: true},
		"the annotations were removed before a sibling is exposed":            {reason: v1alpha1.ReasonPortInUse, before: ago(2, time.Minute), want: ago(3, 0), early: true},
		"the annotations were removed repeatedly before a sibling is exposed": {reason: v1alpha1.ReasonPortInUse, before: ago(maxRestores, time.Minute), want: ago(maxRestores+1, 0), early: true},
	} {
		s := aSituation(aProcess("a", 9400), aProcess("b", 9404))
		s.Status().Restores = tc.before
		for i := range s.Status().Processes {
			s.Status().Processes[i].Phase = v1alpha1.PhaseExposed
		}
		annotated := metav1.Condition{Type: string(v1alpha1.PhaseAnnotated), Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAnnotationsApplied}
		if tc.reason != "" {
			annotated.Status, annotated.Reason = metav1.ConditionFalse, tc.reason
		}
		if tc.early {
			s.Status().Processes[1].Phase, s.Status().Processes[1].Reason = v1alpha1.PhaseStaged, tc.reason
			annotated.Status, annotated.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotReached
		}
		s.Status().Conditions = []metav1.Condition{annotated}
		if diff := cmp.Diff(tc.want, restored(s.Situation)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Annotations mislead if no known process serves the port that they name.
func TestMisleads(t *testing.T) {
	us := string(records.OwnerPodAnnotations)
	serving := func(container string, port int32) v1alpha1.JavaProcess {
		p := aProcess(container, port)
		p.Endpoint = &v1alpha1.Endpoint{Port: port}
		return p
	}
	moved := serving("a", 9500)
	moved.Primary = true
	for name, tc := range map[string]struct {
		owner     string
		processes []v1alpha1.JavaProcess
		want      bool
		// inspected reports that the status is filled, published that the endpoint is
		// in an EndpointSlice.
		inspected, published bool
	}{
		"the named endpoint is known":               {owner: us, processes: []v1alpha1.JavaProcess{serving("a", 9400)}},
		"another endpoint is known":                 {owner: us, processes: []v1alpha1.JavaProcess{serving("b", 9404)}, want: true},
		"the primary process moved to another port": {owner: us, processes: []v1alpha1.JavaProcess{moved}},
		"both endpoints are known":                  {owner: us, processes: []v1alpha1.JavaProcess{serving("b", 9404), serving("a", 9400)}},
		"no endpoint is known":                      {owner: us, processes: []v1alpha1.JavaProcess{aProcess("a", 9400)}, want: true},
		"no process is known":                       {owner: us, want: true},
		"the record was lost":                       {owner: us, published: true},
		"the record was lost, and is filled again":  {owner: us, published: true, inspected: true, want: true},
		"the annotations are foreign":               {owner: "helm"},
	} {
		s := aSituation(tc.processes...)
		if tc.inspected {
			s.Status().Containers = []v1alpha1.InspectedContainer{{Name: "a", Time: &s.Now}}
		}
		if tc.published {
			s.Published = []PublishedEndpoint{{Address: anAddress, Port: 9400}}
		}
		s.Pod.ObjectMeta = podWith(map[string][]string{tc.owner: {v1alpha1.AnnotationPort}}).ObjectMeta
		s.Pod.Annotations[v1alpha1.AnnotationPort] = "9400"
		if got := misleads(s.Situation); got != tc.want {
			t.Errorf("%s: Misleads: got %t, want %t", name, got, tc.want)
		}
	}
}
