package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
)

// story is one way of a pod and its exporter on which the operator may die.
type story struct {
	*cluster
	pod      *corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
}

// TestCrash ends the operator before and after every effect that it has on a
// way that was recorded; another one takes over. It also lets each effect fail
// without an end, and lets its answer get lost. Every plan must come to the same
// end as without an accident, with one load for each JVM. The accidents that the
// operator survives are left to FULL=1.
func TestCrash(t *testing.T) {
	ways := map[string]struct {
		// pod describes the pod; aPod if nil.
		pod func() *podBuilder
		// next is what happens once the pod is Annotated; nil for nothing.
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
		"two JVMs": {
			pod: func() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) },
			end: func(s *story) { s.areAnnotated("9400", "9404") },
		},
		"two JVMs, and the exporter is deleted": {
			pod:  func() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) },
			next: func(s *story) { s.deleteExporter() },
			end: func(s *story) {
				s.isTakenOut()
				if j := s.containers.get(s.pod.UID, "worker").jvms[0]; j.loads != 1 || j.unloads != 1 || j.running() {
					s.t.Errorf("the second agent was loaded %d times, stopped %d times, and is %s", j.loads, j.unloads, j.Mark.State)
				}
			},
		},
		"no shell": {
			pod: func() *podBuilder { return aPod("app-0").withoutShell() },
			end: func(s *story) {
				s.isAnnotated("9400")
				s.hasOneDoor()
			},
		},
		"no shell, and the exporter is deleted": {
			pod:  func() *podBuilder { return aPod("app-0").withoutShell() },
			next: func(s *story) { s.deleteExporter() },
			end: func(s *story) {
				s.isTakenOut()
				s.hasOneDoor()
			},
		},
		"mode Preflight, and then Attach": {
			next: func(s *story) {
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModePreflight })
				s.operate().settle()
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModeAttach })
			},
			end: func(s *story) { s.isAnnotated("9400") },
		},
		"the configuration is rejected": {
			next: func(s *story) {
				s.jvm(s.pod).fault = fault(v1alpha1.ReasonConfigRejected)
				s.configure("lowercaseOutputName: true\n" + rules)
			},
			end: func(s *story) {
				if got := phaseOf(s.attachment(s.pod)); got != "Staged ConfigRejected" {
					s.t.Errorf("the pod is %s", got)
				}
				s.isHalted()
				if s.endpoints(s.exporter) == "" || s.annotations(s.pod)["prometheus.io/port"] != "9400" {
					s.t.Error("the endpoint is withdrawn, though the agent goes on with what it has")
				}
			},
		},
		"the canary's configuration is rejected": {
			next: func(s *story) {
				suspend := func(is bool) {
					change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = is })
				}
				suspend(true)
				s.jvm(s.run(aPod("app-1"))).fault = fault(v1alpha1.ReasonConfigRejected)
				s.operate().settle() // it is inspected, and serves nothing, so its turn is first
				s.configure("lowercaseOutputName: true\n" + rules)
				suspend(false)
			},
			end: func(s *story) {
				canary := &corev1.Pod{ObjectMeta: s.named("app-1")}
				get(s.t, canary)
				if got := phaseOf(s.attachment(canary)); got != "Staged ConfigRejected" {
					s.t.Errorf("the canary is %s", got)
				}
				s.isHalted()
				// A canary that cannot be looked into at first lets the other one go.
				if got := phaseOf(s.attachment(s.pod)); got != "Annotated" {
					s.t.Errorf("the other pod is %s", got)
				}
			},
		},
	}
	plans := 0
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
			s, o := begin(t)
			o.settle()
			way.end(s)
			kinds := []effectstest.Kind{effectstest.DiesBefore, effectstest.DiesAfter}
			if full() {
				kinds = append(kinds, effectstest.IsRefused, effectstest.LosesAnswer)
			}
			for _, a := range effectstest.Plan(o.did(), kinds...) {
				plans++
				t.Run(a.String(), func(t *testing.T) {
					t.Parallel()
					s, o := begin(t)
					o.fate = func(_ int, e effects.Effect, do func() error) error { return a.Perform(described(e), do) }
					for range 10 {
						if !a.Happened() {
							_, _ = o.round() // which fails, as it must
						}
					}
					if a.Restart() {
						o = s.operate()
					}
					o.outlast()
					if !a.Happened() {
						t.Error("the effect did not come about again")
					}
					way.end(s)
				})
			}
		})
	}
	t.Logf("%d plans", plans)
}
