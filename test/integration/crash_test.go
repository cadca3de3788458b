package integration

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// story is one sequence of events of a pod and its exporter, in which the operator may crash.
type story struct {
	*cluster
	pod      *corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
}

// TestCrash ends the operator before and after every effect of a recorded sequence;
// another operator takes over. It also makes each effect fail without a crash, and loses
// its answer. Every plan must reach the same end as without an accident, with one load per
// JVM. The accidents whose rule is general are left to FULL=1.
func TestCrash(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		// pod describes the pod; aPod if nil.
		pod func() *podBuilder
		// next is the event once the pod is Annotated; nil for none.
		next func(*story)
		end  func(*story)
	}{
		"a pod is annotated": {
			end: func(s *story) { s.isAnnotated("9400") },
		},
		"the configuration changes": {
			next: func(s *story) { s.configure("lowercaseOutputName: true\n" + rules) },
			end:  func(s *story) { s.isAnnotated("9400") },
		},
		"the port changes": {
			next: func(s *story) {
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
			},
			end: func(s *story) { s.isAnnotated("9500") },
		},
		"the container is replaced": {
			next: func(s *story) { s.restart(s.pod) },
			end:  func(s *story) { s.isAnnotated("9400") },
		},
		"the exporter is deleted": {
			next: func(s *story) { s.deleteExporter() },
			end:  func(s *story) { s.isTakenOut() },
		},
		"the pod has two JVMs": {
			pod: func() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) },
			end: func(s *story) { s.areAnnotated("9400", "9404") },
		},
		"the exporter of two JVMs is deleted": {
			pod:  func() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) },
			next: func(s *story) { s.deleteExporter() },
			end: func(s *story) {
				s.isTakenOut()
				if j := s.containers.Get(s.pod.UID, "worker").JVMs[0]; j.Loads != 1 || j.Unloads != 1 || j.Running() {
					s.t.Errorf("the second agent: got %d loads, %d unloads and state %s, want one each and not running", j.Loads, j.Unloads, j.Mark.State)
				}
			},
		},
		"there is no shell": {
			pod: func() *podBuilder { return aPod("app-0").withoutShell() },
			end: func(s *story) {
				s.isAnnotated("9400")
				s.hasOneDoor()
			},
		},
		"the exporter of a pod without a shell is deleted": {
			pod:  func() *podBuilder { return aPod("app-0").withoutShell() },
			next: func(s *story) { s.deleteExporter() },
			end: func(s *story) {
				s.isTakenOut()
				s.hasOneDoor()
			},
		},
		"the mode changes from Preflight to Attach": {
			next: func(s *story) {
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModePreflight })
				s.operate().settle()
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModeAttach })
			},
			end: func(s *story) { s.isAnnotated("9400") },
		},
		"the configuration is rejected": {
			next: func(s *story) {
				s.jvm(s.pod).Fault = fault(v1alpha1.ReasonConfigRejected)
				s.configure("lowercaseOutputName: true\n" + rules)
			},
			end: func(s *story) {
				if got := phaseOf(s.attachment(s.pod)); got != "Staged ConfigRejected" {
					s.t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "Staged ConfigRejected")
				}
				s.isHalted()
				if s.endpoints(s.exporter) == "" || s.annotations(s.pod)["prometheus.io/port"] != "9400" {
					s.t.Error("the endpoint was removed, although the agent keeps serving its previous configuration")
				}
			},
		},
		"the canary's configuration is rejected": {
			next: func(s *story) {
				suspend := func(is bool) {
					change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = is })
				}
				suspend(true)
				s.jvm(s.run(aPod("app-1"))).Fault = fault(v1alpha1.ReasonConfigRejected)
				s.operate().settle() // it is inspected, and has no endpoint, so it is first
				s.configure("lowercaseOutputName: true\n" + rules)
				suspend(false)
			},
			end: func(s *story) {
				canary := &corev1.Pod{ObjectMeta: s.named("app-1")}
				get(s.t, canary)
				if got := phaseOf(s.attachment(canary)); got != "Staged ConfigRejected" {
					s.t.Errorf("phase of %s: got %q, want %q", canary.Name, got, "Staged ConfigRejected")
				}
				s.isHalted()
				// A canary that cannot be inspected at first lets the other pod proceed.
				if got := phaseOf(s.attachment(s.pod)); got != "Annotated" {
					s.t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "Annotated")
				}
			},
		},
	}
	var plans atomic.Int32
	t.Cleanup(func() { t.Logf("%d plans", plans.Load()) })
	for name, way := range ways {
		begin := func(t *testing.T) (*story, *operator) {
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			pod := aPod("app-0")
			if way.pod != nil {
				pod = way.pod()
			}
			s.pod = s.run(pod)
			s.exporter = s.export("exporter")
			if way.next != nil {
				o.settle()
				s.prove(o)
				o.did()
				way.next(s)
			}
			return s, o
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := begin(t)
			o.settle()
			way.end(s)
			plan := effectstest.Plan(o.did(), effectstest.DiesBefore, effectstest.DiesAfter, effectstest.IsRefused, effectstest.LosesAnswer)
			if !full() {
				plan = slices.DeleteFunc(plan, isGeneral)
			}
			for _, a := range plan {
				plans.Add(1)
				t.Run(a.String(), func(t *testing.T) {
					t.Parallel()
					s, o := begin(t)
					o.fate = func(_ int, e effects.Effect, do func() error) error { return a.Perform(described(e), do) }
					for range 10 {
						if !a.Happened() {
							_, _ = o.round() // the error is expected
						}
					}
					if a.Restart() {
						o = s.operate()
					}
					o.outlast()
					if !a.Happened() {
						t.Error("the effect did not occur again")
					}
					way.end(s)
				})
			}
		})
	}
}

// isGeneral reports whether TestFaults of pkg/statemachine proves the accident's rule with its
// toy plan: a walk continues from its record, whichever write of it was the last, and
// survives errors. What only reads changes nothing, and a crash before an effect leaves
// what one after the previous effect left. The first of each stays, and so do all
// kinds of accidents at the first load and unload of an agent.
func isGeneral(a *effectstest.Accident) bool {
	kind, what, _ := strings.Cut(a.Effect, " ")
	if a.Kind == effectstest.DiesAfter {
		records := strings.HasSuffix(what, "-status")
		reads := kind == string(effects.HTTP) || what == string(helperapi.VerbInspect)
		return a.Nth > 1 && (records || reads)
	}
	return a.Nth > 1 || what != string(helperapi.VerbLoad) && what != string(helperapi.VerbUnload)
}
