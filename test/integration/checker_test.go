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
)

// checker checks every status that the operator writes for what always holds,
// and remembers it, for what holds between one and the next.
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

// attachmentProblems: all conditions are there; phase is the longest prefix of
// those that hold; the first that does not gives the reason; what comes after it
// is Unknown; Ready sums them up.
func attachmentProblems(status *v1alpha1.JmxAttachmentStatus) []string {
	if len(status.Conditions) == 0 && status.Phase == "" {
		return nil // nobody has looked at it yet
	}
	if status.Phase == "" && status.DetachStartTime != nil { // and nobody will
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if len(status.Conditions) != 1 || ready == nil || ready.Reason != v1alpha1.ReasonDetaching || status.Reason != ready.Reason {
			return []string{"does not just say that it is being taken out"}
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
			if reason := holds[phase]; condition.Reason != v1alpha1.ReasonAdopted || phase != v1alpha1.PhaseStaged && phase != v1alpha1.PhaseLoaded {
				condition.Reason = reason
			}
		default:
			want.Reason = condition.Reason
			ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: condition.Reason, Message: condition.Message}
		}
	}
	condition := meta.FindStatusCondition(want.Conditions, v1alpha1.ConditionReady)
	if condition == nil || len(want.Conditions) != len(v1alpha1.Phases())+1 {
		return []string{"has not just one condition a phase, and Ready"}
	}
	if want.DetachStartTime != nil { // whatever its phase, it is on its way out
		want.Reason = v1alpha1.ReasonDetaching
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching}
	}
	condition.Status, condition.Reason = ready.Status, ready.Reason
	if ready.Message != "" {
		condition.Message = ready.Message
	}
	if diff := cmp.Diff(want, status); diff != "" {
		return []string{"disagrees with itself (-want +got):\n" + diff}
	}
	return nil
}

// exporterProblems: the sums add up, and the four conditions follow from them.
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
			problems = append(problems, fmt.Sprintf("%s is about another generation", kind))
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
		problems = append(problems, fmt.Sprintf("sums do not add up: pods %s, %d counted by phase, %d refused", status.Pods, counted, status.Refused))
	}
	if counted+status.Refused < status.Matched || status.Updated > status.Matched {
		problems = append(problems, fmt.Sprintf("sums do not add up: of %s pods %d are updated, %d counted by phase, %d refused", status.Pods, status.Updated, counted, status.Refused))
	}
	broken := meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionConfigValid)
	if status.Halt != nil && (status.Halt.Revision != status.Revision && !broken || !v1alpha1.Halts(status.Halt.Reason)) {
		problems = append(problems, fmt.Sprintf("is halted for %s with another revision, or for no reason to", status.Halt.Reason))
	}
	// What belongs to the exporter may fail to be written.
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	failed := ready.Reason == v1alpha1.ReasonAPIError
	releasing := strings.Contains(ready.Message, " excluded JVMs ")
	// Of a preflight, what it found is the answer: it is never Ready, and nothing stalls it.
	attaches := status.Preflight == nil
	if want := attaches && status.Matched > 0 && annotated == status.Matched && status.Updated == status.Matched && !holds[v1alpha1.ConditionStalled] && !failed && !releasing; holds[v1alpha1.ConditionReady] != want {
		problems = append(problems, fmt.Sprintf("Ready is %t with %s pods, of which %d are updated", holds[v1alpha1.ConditionReady], status.Pods, status.Updated))
	}
	if holds[v1alpha1.ConditionReady] && (holds[v1alpha1.ConditionReconciling] || holds[v1alpha1.ConditionStalled]) {
		problems = append(problems, "is Ready and Reconciling or Stalled")
	}
	if want := attaches && (status.Refused > 0 || status.Halt != nil || !holds[v1alpha1.ConditionConfigValid]); holds[v1alpha1.ConditionStalled] != want {
		problems = append(problems, fmt.Sprintf("Stalled is %t with %d refused", holds[v1alpha1.ConditionStalled], status.Refused))
	}
	return problems
}

// unstable is what a message must not hold, since it would change by itself:
// dates, times of day, and the process IDs and start times of containers_test.go.
var unstable = regexp.MustCompile(`\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?i)\bpid\W+\d|\b` + strconv.Itoa(javaStartTime/1000) + `\d\d\d\b`)

// conditionProblems: reasons are words, messages are one line that does not
// change by itself, times move with the status only.
func conditionProblems(before, after []metav1.Condition) []string {
	var problems []string
	for _, condition := range after {
		was := meta.FindStatusCondition(before, condition.Type)
		switch m := condition.Message; {
		case m == "" || strings.ContainsAny(m, "\r\n") || len(m) > 600 || unstable.MatchString(m):
			problems = append(problems, fmt.Sprintf("%s has the message %q", condition.Type, m))
		case condition.Reason == "":
			problems = append(problems, condition.Type+" has no reason")
		case condition.LastTransitionTime.IsZero():
			problems = append(problems, condition.Type+" has no time")
		case was != nil && was.Status == condition.Status && !was.LastTransitionTime.Equal(&condition.LastTransitionTime):
			problems = append(problems, condition.Type+" has another time, but the status that it had")
		}
	}
	return problems
}

// holds are the reasons of the conditions that hold.
var holds = map[v1alpha1.Phase]string{
	v1alpha1.PhaseDiscovered: v1alpha1.ReasonSelected,
	v1alpha1.PhaseJavaFound:  v1alpha1.ReasonJVMIdentified,
	v1alpha1.PhaseStaged:     v1alpha1.ReasonFilesVerified,
	v1alpha1.PhaseLoaded:     v1alpha1.ReasonAgentServing,
	v1alpha1.PhaseExposed:    v1alpha1.ReasonEndpointPublished,
	v1alpha1.PhaseAnnotated:  v1alpha1.ReasonAnnotationsApplied,
}
