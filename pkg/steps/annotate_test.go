package steps

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
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

// writing is a PodWriter that fails to write the flag with an error, and keeps what was written.
type writing struct {
	err   error
	wrote []map[string]string
}

// PodAnnotations implements PodWriter.
func (w *writing) PodAnnotations(_ context.Context, _ *corev1.Pod, annotations map[string]string) error {
	if _, flags := annotations[v1alpha1.AnnotationFlag]; flags && w.err != nil {
		return w.err
	}
	w.wrote = append(w.wrote, annotations)
	return nil
}

// Annotations that were withdrawn are applied again in the same reconcile, although the flag
// stayed on the pod.
func TestAnnotatedAfterWithdrawal(t *testing.T) {
	s := aSituation(serving("a", 9400), serving("b", 9404))
	s.Attachment.Name = "app-0"
	s.annotatedBy(string(records.OwnerPodAnnotations), "9400")
	w := &writing{}
	s.Writer = w
	step := Annotate{s.Tools}
	if got := step.Undo(t.Context(), s.Situation); got.Reason != "" {
		t.Fatalf("withdrawal: got %s (%s)", got.Reason, got.Message)
	}
	for range 2 { // then there is nothing more to apply
		if got := step.Ensure(t.Context(), s.Situation); got.Reason != "" {
			t.Fatalf("annotating: got %s (%s)", got.Reason, got.Message)
		}
	}
	if diff := cmp.Diff([]map[string]string{flag(s.Situation), annotations(s.Situation)}, w.wrote); diff != "" {
		t.Errorf("annotations written (-want +got):\n%s", diff)
	}
}

// Beside annotations of others, a flag that cannot be written changes nothing of what a user is
// told: the foreign annotations.
func TestFlagBesideForeignAnnotations(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a policy denies it":        {apierrors.NewForbidden(pods, "app-0", nil), v1alpha1.ReasonAnnotationConflict},
		"somebody else owns it":     {apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "zed"`}}, "conflict"), v1alpha1.ReasonAnnotationConflict},
		"the API server is failing": {apierrors.NewInternalError(context.DeadlineExceeded), v1alpha1.ReasonAPIError},
	} {
		s := aSituation(serving("a", 9400))
		s.Pod.ObjectMeta = podWith(map[string][]string{"helm": {v1alpha1.AnnotationPort}}).ObjectMeta
		s.Writer = &writing{err: tc.err}
		got := Annotate{s.Tools}.Ensure(t.Context(), s.Situation)
		if got.Reason != tc.want {
			t.Errorf("%s: got %s (%s), want %s", name, got.Reason, got.Message, tc.want)
		}
		if want := conflictMessage(s.Pod, pod.ForeignScrape(s.Pod)); tc.want == v1alpha1.ReasonAnnotationConflict && got.Message != want {
			t.Errorf("%s: message: got %q, want %q", name, got.Message, want)
		}
	}
}
