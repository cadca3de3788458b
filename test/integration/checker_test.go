package integration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// checker checks invariants in every status that the operator writes, and remembers
// the status to compare it with the next one.
type checker struct {
	mu     sync.Mutex
	before map[types.UID][]metav1.Condition
}

func newChecker() *checker { return &checker{before: map[types.UID][]metav1.Condition{}} }

func (c *checker) check(t *testing.T, object client.Object) {
	t.Helper()
	var problems []string
	var conditions []metav1.Condition
	switch o := object.(type) {
	case *v1alpha1.JmxAttachment:
		conditions = o.Status.Conditions
		problems = attachmentProblems(&o.Status)
	case *v1alpha1.PrometheusJmxExporter:
		conditions = o.Status.Conditions
		problems = exporterProblems(o)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	problems = append(problems, conditionProblems(c.before[object.GetUID()], conditions)...)
	c.before[object.GetUID()] = conditions
	for _, problem := range problems {
		t.Errorf("status of %T %s: %s", object, object.GetName(), problem)
	}
}

// attachmentProblems checks that all conditions exist, and others only with a cause; that phase is the longest prefix of
// true ones; that the first that is not true gives the reason; that later ones are
// Unknown; and that Ready summarizes them.
func attachmentProblems(status *v1alpha1.JmxAttachmentStatus) []string {
	if len(status.Conditions) == 0 && status.Phase == "" {
		return nil // not reconciled yet
	}
	if status.Phase == "" && status.DetachStartTime != nil { // and will not be
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if len(status.Conditions) != 1 || ready == nil || ready.Reason != v1alpha1.ReasonDetaching || status.Reason != ready.Reason {
			return []string{"says more than that the operator is detaching"}
		}
		return nil
	}
	want := status.DeepCopy()
	want.Phase, want.Reason = v1alpha1.PhasePending, ""
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScrapable}
	for _, phase := range v1alpha1.Phases() {
		condition := meta.FindStatusCondition(want.Conditions, string(phase))
		switch {
		case condition == nil:
			return []string{fmt.Sprintf("has no condition %s", phase)}
		case want.Reason != "":
			condition.Status, condition.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotReached
		case condition.Status == metav1.ConditionTrue:
			want.Phase = phase
			if v1alpha1.Known(condition.Reason) {
				return []string{fmt.Sprintf("has %s True for %s, why it does not hold", phase, condition.Reason)}
			}
		default:
			want.Reason = condition.Reason
			ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: condition.Reason, Message: condition.Message}
		}
	}
	condition := meta.FindStatusCondition(want.Conditions, v1alpha1.ConditionReady)
	notices := record.Record{Attachment: &v1alpha1.JmxAttachment{Status: *status}}.Notices()
	if condition == nil || len(want.Conditions) != len(v1alpha1.Phases())+1+len(notices) {
		return []string{"does not have exactly one condition per phase, Ready, and those of the agents' notices"}
	}
	for _, n := range notices {
		c := meta.FindStatusCondition(want.Conditions, n.Type)
		if c == nil {
			return []string{"has no condition " + n.Type}
		}
		c.Status, c.Reason, c.Message = n.Status, n.Reason, n.Message
	}
	if want.DetachStartTime != nil { // whatever its phase, it is detaching
		want.Reason = v1alpha1.ReasonDetaching
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching}
	}
	condition.Status, condition.Reason = ready.Status, ready.Reason
	if _, kept, ok := strings.Cut(condition.Message, " This JmxAttachment is deleted, and its finalizers "); ready.Message != "" {
		if condition.Message = ready.Message; ok {
			condition.Message += " This JmxAttachment is deleted, and its finalizers " + kept
		}
	}
	if diff := cmp.Diff(want, status); diff != "" {
		return []string{"is inconsistent (-want +got):\n" + diff}
	}
	return nil
}

// exporterProblems checks that the counts add up, and that the four conditions follow from them.
func exporterProblems(exporter *v1alpha1.PrometheusJmxExporter) []string {
	status := exporter.Status
	if len(status.Conditions) == 0 && status.Phase == "" {
		return nil
	}
	var problems []string
	holds := map[string]bool{}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionConfigValid} {
		condition := meta.FindStatusCondition(status.Conditions, kind)
		if condition == nil {
			return []string{fmt.Sprintf("has no condition %s", kind)}
		}
		holds[kind] = condition.Status == metav1.ConditionTrue
		if condition.ObservedGeneration != status.ObservedGeneration {
			problems = append(problems, fmt.Sprintf("has a condition %s of another generation", kind))
		}
	}
	var annotated, counted int32
	for _, count := range status.Phases {
		counted += count.Count
		if count.Phase == v1alpha1.PhaseAnnotated {
			annotated = count.Count
		}
	}
	if want := fmt.Sprintf("%d/%d", annotated, status.Matched); status.Pods != want || counted > status.Matched || status.Refused > status.Matched {
		problems = append(problems, fmt.Sprintf("counts do not add up: pods %s, %d by phase, %d refused", status.Pods, counted, status.Refused))
	}
	if counted+status.Refused < status.Matched || status.Updated > status.Matched {
		problems = append(problems, fmt.Sprintf("counts do not add up: pods %s, %d updated, %d by phase, %d refused", status.Pods, status.Updated, counted, status.Refused))
	}
	broken := meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionConfigValid)
	if status.Halt != nil && (status.Halt.Revision != status.Revision && !broken || !v1alpha1.Halts(status.Halt.Reason)) {
		problems = append(problems, fmt.Sprintf("is halted for %s without a matching revision or cause", status.Halt.Reason))
	}
	// Writing the exporter's own objects may fail.
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	failed := ready.Reason == v1alpha1.ReasonAPIError
	releasing := strings.Contains(ready.Message, " excluded JVMs ")
	// A preflight is never Ready, and nothing stalls it: its result is the answer.
	attaches := status.Preflight == nil
	if want := attaches && annotated == status.Matched && status.Updated == status.Matched && !holds[v1alpha1.ConditionStalled] && !failed && !releasing; holds[v1alpha1.ConditionReady] != want {
		problems = append(problems, fmt.Sprintf("has Ready %t with pods %s, %d of them updated", holds[v1alpha1.ConditionReady], status.Pods, status.Updated))
	}
	if holds[v1alpha1.ConditionReady] && (holds[v1alpha1.ConditionReconciling] || holds[v1alpha1.ConditionStalled]) {
		problems = append(problems, "is Ready while Reconciling or Stalled")
	}
	if want := attaches && (status.Refused > 0 || status.Halt != nil || !holds[v1alpha1.ConditionConfigValid]); holds[v1alpha1.ConditionStalled] != want {
		problems = append(problems, fmt.Sprintf("has Stalled %t with %d refused pods", holds[v1alpha1.ConditionStalled], status.Refused))
	}
	return problems
}

// unstable matches what a message must not contain, because it changes by itself:
// dates, times of day, and the process IDs and start times of containers_test.go.
var unstable = regexp.MustCompile(`\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?i)\bpid\W+\d|\b` + strconv.Itoa(javaStartTime/1000) + `\d\d\d\b`)

// conditionProblems checks that reasons are set, that messages are one stable line, and
// that transition times become later only with the status; earlier ones correct those of a
// clock that was ahead.
func conditionProblems(before, after []metav1.Condition) []string {
	var problems []string
	for _, condition := range after {
		was := meta.FindStatusCondition(before, condition.Type)
		switch m := condition.Message; {
		case m == "" || strings.ContainsAny(m, "\r\n") || len(m) > 600 || unstable.MatchString(m):
			problems = append(problems, fmt.Sprintf("condition %s has the invalid message %q", condition.Type, m))
		case condition.Reason == "":
			problems = append(problems, condition.Type+" has no reason")
		case condition.LastTransitionTime.IsZero():
			problems = append(problems, condition.Type+" has no time")
		case was != nil && was.Status == condition.Status && was.LastTransitionTime.Before(&condition.LastTransitionTime):
			problems = append(problems, condition.Type+" has a new transition time with an unchanged status")
		}
	}
	return problems
}
