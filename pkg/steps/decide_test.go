package steps

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// annotatedPod is a pod whose only JVM serves, and whose phases all hold.
func annotatedPod() *scene {
	s := aSituation(serving("app", 9400)).published().inspectedWell().annotatedBy(string(records.OwnerPodAnnotations), "9400")
	s.Status().Phase, s.State.Phase = v1alpha1.PhaseAnnotated, Annotated
	s.Attachment.Spec.Revision, s.Status().Revision = revision, revision
	s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
	s.Exporter.UID, s.Attachment.Spec.Exporter.UID = "exporter", "exporter"
	return s
}

// process changes the JVM of a pod.
func process(change func(*v1alpha1.JavaProcess)) func(*scene) {
	return func(s *scene) { change(s.jvm().Process) }
}

func healthIs(h Health) func(*scene) {
	return func(s *scene) {
		s.EndpointHealth = map[record.ProcessIdentity]Health{record.Identity(s.jvm().Process): h}
	}
}

// situations has a situation for each cause: the one that it is true of.
var situations = map[string]func(*scene){
	v1alpha1.ReasonReplaced:        func(s *scene) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://next" },
	v1alpha1.ReasonConfigChanged:   func(s *scene) { s.Config.Blob = blob("new") },
	v1alpha1.ReasonAgentGone:       healthIs(Health{Finding: FindingStopped}),
	v1alpha1.ReasonEndpointForeign: healthIs(Health{Finding: FindingServing, Foreign: true}),
	v1alpha1.ReasonAgentChanged:    process(func(p *v1alpha1.JavaProcess) { p.ImplementationSHA256 = "old" }),
	v1alpha1.ReasonEndpointSilent:  healthIs(Health{Finding: FindingSilent, Misses: silentMisses}),
	v1alpha1.ReasonEndpointMoved:   process(func(p *v1alpha1.JavaProcess) { p.Endpoint.Address = "10.0.0.9" }),
	v1alpha1.ReasonEndpointLost:    func(s *scene) { s.Published = nil },
	v1alpha1.ReasonAnnotationLost:  func(s *scene) { s.Pod.Annotations, s.Pod.ManagedFields = nil, nil },
}

// backTo has the phase to which each cause takes a record back that has come further.
var backTo = map[string]statemachine.Phase{
	v1alpha1.ReasonReplaced:        Discovered,
	v1alpha1.ReasonConfigChanged:   JavaFound,
	v1alpha1.ReasonAgentGone:       Staged,
	v1alpha1.ReasonEndpointForeign: Staged,
	v1alpha1.ReasonAgentChanged:    Staged,
	v1alpha1.ReasonEndpointSilent:  Loaded,
	v1alpha1.ReasonEndpointMoved:   Loaded,
	v1alpha1.ReasonEndpointLost:    Loaded,
	v1alpha1.ReasonAnnotationLost:  Exposed,
}

// Each cause takes a pod back from each phase: to its phase if the pod has come further,
// and for no other reason. No cause and no phase is left out.
func TestDecideEachCauseInEachPhase(t *testing.T) {
	if causes, known := len(Causes()), len(situations); causes != known {
		t.Errorf("%d situations for %d causes", known, causes)
	}
	for _, cause := range Causes() {
		how := situations[cause.Reason]
		if how == nil {
			t.Errorf("no situation for the cause %s", cause.Reason)
			continue
		}
		for _, phase := range Plan.Phases() {
			s := annotatedPod()
			s.Status().Phase, s.State.Phase = v1alpha1.Phase(phase), phase
			if !Plan.Reached(phase, Annotated) {
				s.jvm().Process.Phase = v1alpha1.Phase(phase)
			}
			how(s)
			want := phase
			if Plan.Reached(phase, backTo[cause.Reason]) {
				want = backTo[cause.Reason]
			}
			if got := decidedPhase(t, s, cause.Reason); got != want {
				t.Errorf("%s in %s: the pod goes back to %s, want %s", cause.Reason, phase, got, want)
			}
		}
	}
}

// decidedPhase returns the phase of a pod after the moves of Regress, and checks that they
// take nothing back for another reason.
func decidedPhase(t *testing.T, s *scene, reason string) statemachine.Phase {
	t.Helper()
	at := s.State.Phase
	moves, err := Regress(s.Situation)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		var why *Cause
		switch m := m.(type) {
		case RegressJVM:
			why = m.Cause
		case RegressPod:
			why = m.Cause
		}
		if why != nil && why.Reason != reason {
			t.Errorf("%s in %s: taken back for %s", reason, at, why.Reason)
		}
		if change, ok := m.(Change); ok {
			if err := change.Apply(s.Situation); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.Sum(s.State).Phase
}

// tableOfDecisions is the part of docs/states.md that is written by hand: a situation and
// the moves that it leads to in each row, under the name of its decision.
const tableOfDecisions = "../../hack/docs/decisions.md"

// decided has the situations of tableOfDecisions, by decision. Each starts with a pod
// whose phases all hold, and which is granted.
var decided = map[string]map[string]func(*scene){
	"Regress": {
		"everything holds": func(*scene) {},
		"the rollout has granted a new revision": func(s *scene) {
			s.Attachment.Spec.Revision = "next"
			s.Config.Blob = blob("new")
		},
		"the configuration changed, and is not granted":   func(s *scene) { s.Config.Blob, s.Granted = blob("new"), false },
		"the exporter's annotation has resumed a rollout": func(s *scene) { s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"} },
		"the pod was being detached, and came back":       func(s *scene) { s.Status().DetachStartTime = new(s.Now) },
		"an endpoint is silent, and its JVM is gone":      healthIs(Health{Finding: FindingGone}),
		"a container was replaced soon after an attach": func(s *scene) {
			situations[v1alpha1.ReasonReplaced](s)
			s.jvm().Process.Intent.Time = metav1.NewTime(s.Now.Add(-time.Second))
		},
		"the agent is gone for the second time": func(s *scene) {
			situations[v1alpha1.ReasonAgentGone](s)
			s.jvm().Process.Losses = &v1alpha1.Losses{Count: 1, LastTime: s.Now}
		},
		"an agent reports that its scrape is incomplete":            healthIs(Health{Notices: &helperapi.Notices{Skipped: &helperapi.Skipped{Count: 1, Domain: "a", Reason: "InvalidValue"}}}),
		"an endpoint answers inside the pod only":                   healthIs(Health{Finding: FindingServing, CheckedFrom: v1alpha1.CheckedFromPod}),
		"the rules that select processes changed":                   func(s *scene) { s.Exporter.Spec.AllowSharedTmp = true },
		"the node agent that refused a container is being replaced": refusedBy(agentReady, agentAwaited),
		"the node agent that refused a container was replaced":      refusedBy(agentReady, agentNext),
		"somebody else set a scrape annotation": func(s *scene) {
			s.annotatedBy("helm", "8080")
		},
	},
	"FindJVMs": {
		"nothing was inspected again": func(*scene) {},
		"an inspection found a JVM":   func(s *scene) { s.Inspection = new(record.Done()) },
		"an inspection found no JVM": func(s *scene) {
			s.Status().Processes = nil
			s.Inspection = new(record.NotDone(v1alpha1.ReasonNoJavaProcess, "No."))
		},
		"there was no capacity to inspect":          func(s *scene) { s.Inspection = new(record.NotDone(v1alpha1.ReasonQueued, "No.")) },
		"no container of the pod was inspected yet": func(s *scene) { s.State = statemachine.State{}; s.Status().Containers, s.Status().Processes = nil, nil },
	},
	"WalkJVMs": {
		"a JVM is chosen":                  func(*scene) {},
		"a JVM is excluded, with an agent": process(func(p *v1alpha1.JavaProcess) { excluded(p) }),
		"a JVM is excluded, without an agent": process(func(p *v1alpha1.JavaProcess) {
			excluded(p)
			p.Intent, p.Endpoint = nil, nil
		}),
		"a JVM is still starting": process(func(p *v1alpha1.JavaProcess) {
			p.Phase, p.Reason = v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting
		}),
		"an earlier container may have the primary JVM": func(s *scene) {
			s.Pod.Spec.Containers = append([]corev1.Container{{Name: "first"}}, s.Pod.Spec.Containers...)
			s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: "first", ContainerID: "containerd://first", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			})
			*s.jvm().Process = aProcess("app", 0)
		},
		"the primary JVM was refused just now, and an inspection may find another": func(s *scene) {
			primary := s.jvm().Process
			primary.Phase, primary.Reason, primary.Endpoint = v1alpha1.PhaseJavaFound, v1alpha1.ReasonStorageLimitTooLow, nil
			s.Walked = []record.ProcessIdentity{record.Identity(primary)}
			s.Status().Processes = append(s.Status().Processes, aProcess("worker", 0))
			s.runs("worker")
			s.inspectedWell()
			s.runs("last")
		},
		"an inspection no longer finds a JVM that was attached a moment ago": func(s *scene) {
			s.jvm().Process.Intent.Time, s.jvm().Process.Primary = metav1.NewTime(s.Now.Add(-time.Second)), true
			s.Begun = s.Status().DeepCopy()
			s.Status().Processes = nil
		},
	},
	"Settle": {
		"every JVM is exposed": func(*scene) {},
		"a load found its process gone": process(func(p *v1alpha1.JavaProcess) {
			p.Phase, p.Reason, p.Endpoint = v1alpha1.PhaseDiscovered, v1alpha1.ReasonProcessGone, nil
		}),
		"the primary JVM is exposed, and another is not": func(s *scene) {
			s.Status().Processes = append(s.Status().Processes, failing("worker", v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse))
		},
		"no JVM is exposed": process(func(p *v1alpha1.JavaProcess) { p.Phase, p.Endpoint = v1alpha1.PhaseStaged, nil }),
	},
	"AwaitHalt": {
		"the pod still runs": func(s *scene) { s.Former = s.Exporter },
		"the pod failed soon after an attach": func(s *scene) {
			s.Former, s.Pod.Status.Phase, s.Pod.Status.ContainerStatuses = s.Exporter, corev1.PodFailed, nil
			s.Exporter.Status.Revision = revision
			s.jvm().Process.Intent.Time = metav1.NewTime(s.Now.Add(-time.Second))
			s.Begun = s.Status().DeepCopy()
		},
	},
	"Release": {
		"the detach begins": func(*scene) {},
		"the timeout has passed": func(s *scene) {
			s.Status().DetachStartTime = new(metav1.NewTime(s.Now.Add(-time.Hour)))
			s.Begun = s.Status()
		},
		"the timeout has passed, and a finalizer keeps the record": func(s *scene) {
			s.Status().DetachStartTime = new(metav1.NewTime(s.Now.Add(-time.Hour)))
			s.Status().Attempt = &v1alpha1.Attempt{NextTime: new(metav1.NewTime(s.Now.Add(time.Minute)))}
			s.Begun = s.Status()
		},
		"the container has ended":  func(s *scene) { s.Pod.Status.ContainerStatuses = nil },
		"the record was recreated": func(s *scene) { s.Status().Containers, s.Status().Processes = nil, nil; s.Begun = s.Status() },
	},
	"UndoAll": {
		"an agent is loaded":   func(*scene) {},
		"no agent was loaded":  process(func(p *v1alpha1.JavaProcess) { p.Intent = nil }),
		"nothing was attached": func(s *scene) { s.Status().Processes = nil },
	},
}

var decisions = map[string]Decision{
	"Regress": Regress, "FindJVMs": FindJVMs, "WalkJVMs": WalkJVMs, "Settle": Settle, "AwaitHalt": AwaitHalt, "Release": Release, "UndoAll": UndoAll,
}

// Each row of the table of decisions is what the decision answers, and each situation has a
// row.
func TestTableOfDecisions(t *testing.T) {
	page, err := os.ReadFile(tableOfDecisions)
	if err != nil {
		t.Fatal(err)
	}
	if all := append(slices.Clone(Attach), Detach...); len(all) != len(decisions) {
		t.Errorf("%d decisions have situations, want %d", len(decisions), len(all))
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 3 && strings.HasPrefix(cells[0], "| `") {
			rows[strings.Trim(cells[0], "|` ")+": "+cells[1]] = strings.TrimSuffix(cells[2], " |")
		}
	}
	for _, decision := range slices.Sorted(maps.Keys(decided)) {
		for name, how := range decided[decision] {
			row := decision + ": " + name
			s := annotatedPod()
			how(s)
			if decision == "Regress" {
				s.Begun = s.Status().DeepCopy()
			}
			moves, err := decisions[decision](s.Situation)
			if err != nil {
				t.Errorf("%s: %v", row, err)
			}
			if got := described(moves); rows[row] != got {
				t.Errorf("%s has\n| `%s` | %s | %s |\nand decides\n| `%s` | %s | %s |", tableOfDecisions, decision, name, rows[row], decision, name, got)
			}
			delete(rows, row)
		}
	}
	for row := range rows {
		t.Errorf("%s has a row of no situation: %s", tableOfDecisions, row)
	}
}

// described returns moves as the table has them.
func described(moves []Move) string {
	var words []string
	for _, m := range moves {
		name := strings.TrimPrefix(fmt.Sprintf("%T", m), "steps.")
		switch m := m.(type) {
		case Renew:
			var what []string
			for words, is := range map[string]bool{
				"a new grant": m.Grant != "", "resumed": m.Resume != nil, "inspected by another transport": m.RetryInspection, "the restart was before": m.ForgetRestart,
			} {
				if is {
					what = append(what, words)
				}
			}
			slices.Sort(what)
			name += " (" + strings.Join(what, ", ") + ")"
		case RegressJVM:
			name += " (" + m.Cause.Reason + ")"
		case RegressPod:
			name += " (" + m.Cause.Reason + ")"
		case CheckFrom:
			name += " (" + string(m.From) + ")"
		case WalkPod:
			name += " (to " + string(m.To) + ")"
		}
		words = append(words, name)
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
