package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// story is one way of a pod and its exporter on which the operator may die.
type story struct {
	*cluster
	pod      *corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
}

var errAccident = errors.New("an accident, as the test wants it")

// accidents are what may happen at an effect. Those that are deadly end the
// operator: from then on it has no effects any more.
var accidents = map[string]struct {
	deadly bool
	at     func(do func() error)
}{
	"dies before":     {deadly: true, at: func(func() error) {}},
	"dies after":      {deadly: true, at: func(do func() error) { _ = do() }},
	"is refused":      {at: func(func() error) {}},
	"loses an answer": {at: func(do func() error) { _ = do() }},
}

// TestCrash ends the operator before and after every effect that it has on a
// way that was recorded; another one takes over. It also lets each effect fail
// without an end, and lets its answer get lost. Every plan must come to the same
// end as without an accident, with one load for each JVM.
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
			for n, effect := range o.did() {
				for accident, is := range accidents {
					plans++
					t.Run(fmt.Sprintf("%s %d %s", accident, n, effect), func(t *testing.T) {
						t.Parallel()
						s, o := begin(t)
						happened := false
						o.fate = func(i int, e effects.Effect, do func() error) error {
							switch {
							case i == n:
								happened = true
								if got := fmt.Sprintf("%s %s", e.Kind, e.What); got != effect {
									t.Errorf("effect %d is %s, not what was recorded: %s", n, got, effect)
								}
								is.at(do)
								return errAccident
							case happened && is.deadly:
								return errAccident
							}
							return do()
						}
						if is.deadly {
							for range 10 {
								if !happened {
									_, _ = o.round() // which fails, as it must
								}
							}
							o = s.operate()
						}
						o.outlast()
						if !happened {
							t.Error("the effect did not come about again")
						}
						way.end(s)
					})
				}
			}
		})
	}
	t.Logf("%d plans", plans)
}

// deleteExporter deletes the exporter, and with it what it owns.
func (s *story) deleteExporter() {
	s.t.Helper()
	remove(s.t, s.exporter)
	s.garbageCollect()
}

// isAnnotated: the pod is Annotated, its exporter Ready, the agent was loaded
// once, and everything is there once.
func (s *story) isAnnotated(port string) {
	s.t.Helper()
	s.isAnnotatedOf(1, port)
}

// isAnnotatedOf is isAnnotated in a namespace with several exporters.
func (s *story) isAnnotatedOf(exporters int, port string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("the pod is not Annotated: %+v", a)
	}
	if diff := cmp.Diff(annotatedBy(a, port), s.annotations(s.pod)); diff != "" {
		s.t.Errorf("annotations (-want +got):\n%s", diff)
	}
	owners := 0
	for _, entry := range s.pod.ManagedFields {
		if entry.Manager == string(records.OwnerPodAnnotations) {
			owners++
		}
	}
	if owners != 1 {
		s.t.Errorf("the annotations are owned by us %d times", owners)
	}
	if loads := s.jvm(s.pod).loads; loads != 1 {
		s.t.Errorf("the agent was loaded %d times", loads)
	}
	if get(s.t, s.exporter); !meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady) {
		s.t.Errorf("the exporter is not Ready: %+v", s.exporter.Status)
	}
	if want, got := fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, port), s.endpoints(s.exporter); got != want {
		s.t.Errorf("published is %q, not %q", got, want)
	}
	var services corev1.ServiceList
	if s.list(&services); len(services.Items) != exporters {
		s.t.Errorf("there are %d Services", len(services.Items))
	}
}

// isHalted: the exporter goes no further, since a configuration was rejected.
func (s *story) isHalted() {
	s.t.Helper()
	if get(s.t, s.exporter); s.exporter.Status.Halt == nil || s.exporter.Status.Halt.Reason != v1alpha1.ReasonConfigRejected {
		s.t.Errorf("the exporter is not halted: %+v", s.exporter.Status)
	}
}

// isTakenOut: nothing of ours is left on the pod, and no record.
func (s *story) isTakenOut() {
	s.t.Helper()
	if left := s.annotations(s.pod); len(left) > 0 {
		s.t.Errorf("annotations are left: %v", left)
	}
	if a := s.attachment(s.pod); a != nil {
		s.t.Errorf("the record is left: %+v", a.Status)
	}
	if j := s.jvm(s.pod); j.loads != 1 || j.unloads != 1 || j.running() {
		s.t.Errorf("the agent was loaded %d times, stopped %d times, and is %s", j.loads, j.unloads, j.Mark.State)
	}
}

// areAnnotated: the pod is Annotated, with a JVM in each of its containers; each
// serves its port, was loaded into once and is published once, and the annotation
// names the first.
func (s *story) areAnnotated(ports ...string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("the pod is not Annotated: %+v", a)
	}
	var serve, published []string
	for _, p := range a.Status.Processes {
		serve = append(serve, fmt.Sprint(p.Port))
		published = append(published, fmt.Sprintf("app-0 %s:%d", s.pod.Status.PodIP, p.Port))
	}
	if diff := cmp.Diff(ports, serve); diff != "" {
		s.t.Errorf("ports (-want +got):\n%s", diff)
	}
	slices.Sort(published)
	if diff := cmp.Diff(strings.Join(published, ", "), s.endpoints(s.exporter)); diff != "" {
		s.t.Errorf("published (-want +got):\n%s", diff)
	}
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != ports[0] {
		s.t.Errorf("the annotation names port %s", got)
	}
	for _, container := range s.pod.Spec.Containers {
		for _, j := range s.containers.get(s.pod.UID, container.Name).jvms {
			if j.Exporter == nil && j.loads != 1 || !j.running() && j.Exporter == nil {
				s.t.Errorf("in container %s the agent was loaded %d times", container.Name, j.loads)
			}
		}
	}
	if get(s.t, s.exporter); len(s.exporter.Status.MetricsEndpoints) != len(ports) {
		s.t.Errorf("the exporter lists %v", s.exporter.Status.MetricsEndpoints)
	}
}
