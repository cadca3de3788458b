package integration

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
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
			next: func(s *story) { remove(s.t, s.exporter) },
			end:  func(s *story) { s.isTakenOut() },
		},
	}
	plans := 0
	for name, way := range ways {
		begin := func(t *testing.T) (*story, *operator) {
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(aPod("app-0"))
			s.exporter = s.export("exporter")
			if way.next != nil {
				o.settle()
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
		if entry.Manager == string(apply.OwnerPodAnnotations) {
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

// isTakenOut: nothing of ours is left on the pod, and no record.
func (s *story) isTakenOut() {
	s.t.Helper()
	if left := s.annotations(s.pod); len(left) > 0 {
		s.t.Errorf("annotations are left: %v", left)
	}
	if a := s.attachment(s.pod); a != nil {
		s.t.Errorf("the record is left: %+v", a.Status)
	}
	if loads := s.jvm(s.pod).loads; loads != 1 {
		s.t.Errorf("the agent was loaded %d times", loads)
	}
}
