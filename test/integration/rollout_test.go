package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// a fleet is an exporter with several pods.
type fleet struct {
	*cluster
	o        *operator
	pods     []*corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
}

// aFleet has this many pods, two on each node.
func aFleet(t *testing.T, n int, how func(*v1alpha1.Rollout)) *fleet {
	t.Helper()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	for i := range n {
		pod := aPod(fmt.Sprintf("app-%d", i))
		pod.pod.Spec.NodeName = fmt.Sprintf("node-%d", 1+i/2)
		f.pods = append(f.pods, f.run(pod))
	}
	f.configure(rules)
	f.exporter = f.anExporter("exporter")
	if how != nil {
		f.exporter.Spec.Rollout = v1alpha1.Rollout{RestartWindow: &metav1.Duration{Duration: time.Minute}}
		how(&f.exporter.Spec.Rollout)
	}
	create(t, f.exporter)
	return f
}

// are says of each pod how far it is.
func (f *fleet) are() []string {
	f.t.Helper()
	var are []string
	for _, pod := range f.pods {
		are = append(are, phaseOf(f.attachment(pod)))
	}
	return are
}

func (f *fleet) expect(when string, want ...string) {
	f.t.Helper()
	f.o.settle()
	if diff := cmp.Diff(want, f.are()); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// asked says of each pod how many configurations were to be loaded in it.
func (f *fleet) asked() string {
	f.t.Helper()
	var asked []string
	for _, pod := range f.pods {
		asked = append(asked, fmt.Sprint(len(f.jvm(pod).asked)))
	}
	return strings.Join(asked, " ")
}

func (f *fleet) expectAsked(when, want string) {
	f.t.Helper()
	f.o.settle()
	if got := f.asked(); got != want {
		f.t.Errorf("%s, of configurations the pods got %s, not %s", when, got, want)
	}
}

// sums are Updated, Ready and Stalled of the exporter.
func (f *fleet) sums() string {
	f.t.Helper()
	get(f.t, f.exporter)
	reason := func(kind string) string {
		c := meta.FindStatusCondition(f.exporter.Status.Conditions, kind)
		return fmt.Sprintf("%s %s %s", kind, c.Status, c.Reason)
	}
	return fmt.Sprintf("%d/%s, %s, %s", f.exporter.Status.Updated, f.exporter.Status.Pods, reason("Ready"), reason("Stalled"))
}

func (f *fleet) expectSums(when, want string) {
	f.t.Helper()
	if got := f.sums(); got != want {
		f.t.Errorf("%s, the exporter says %q, not %q", when, got, want)
	}
}

const (
	isAnnotated = "Annotated"
	isPending   = "JavaFound RolloutPending"
	changed     = "lowercaseOutputName: true\n" + rules
	// The form is right; the JVM judges the pattern.
	badPattern = "rules: [{pattern: 'java.lang<(type'}]"
)

// First attachments go out to the canary, then to the others, and so do changes:
// who waits keeps what it has.
func TestCanary(t *testing.T) {
	f := aFleet(t, 3, nil)
	f.expect("at first", isAnnotated, isPending, isPending)
	f.expectSums("at first", "1/1/3, Ready False Progressing, Stalled False Reconciled")
	f.later(2 * time.Second)
	f.expect("before the canary is proven", isAnnotated, isPending, isPending)
	f.later(2 * time.Second)
	f.expect("then", isAnnotated, isAnnotated, isAnnotated)
	f.expectSums("then", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	f.configure(changed)
	f.expectAsked("after a change", "2 1 1")
	f.expectSums("after a change", "1/3/3, Ready False Progressing, Stalled False Reconciled")
	f.expect("after a change", isAnnotated, isAnnotated, isAnnotated)
	for _, pod := range f.pods {
		if !strings.Contains(f.endpoints(f.exporter), pod.Status.PodIP+":9400") || f.annotations(pod)["prometheus.io/port"] != "9400" {
			t.Errorf("what %s has is withdrawn", pod.Name)
		}
	}
	f.later(5 * time.Second)
	f.expectAsked("when the canary is proven", "2 2 2")
	f.expectSums("in the end", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	late := f.run(aPod("app-9"))
	f.pods = append(f.pods, late)
	f.expect("a pod that comes late", isAnnotated, isAnnotated, isAnnotated, isAnnotated)

	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 1 || strings.Count(got, ":9400") != 3 {
		t.Errorf("after a change of the port, published is %q", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 4 {
		t.Errorf("in the end, published is %q", got)
	}
}

// Another agent goes out in turns too.
func TestAnotherAgentInTurns(t *testing.T) {
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	newer := *artifacts
	newer.Implementation = transport.NewBlob("exporter-", []byte("a newer exporter"), ".jar")
	f.artifacts = &newer
	f.o = f.operate()
	runs := func() (n int) {
		for _, pod := range f.pods {
			if f.jvm(pod).Mark.ImplementationSHA256 == newer.Implementation.SHA256 {
				n++
			}
		}
		return n
	}
	f.o.settle()
	if got := runs(); got != 1 {
		t.Errorf("%d pods have the newer agent at first", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := runs(); got != 2 {
		t.Errorf("%d pods have the newer agent in the end", got)
	}
	for _, pod := range f.pods {
		if f.jvm(pod).loads != 1 {
			t.Errorf("into %s the agent was loaded %d times", pod.Name, f.jvm(pod).loads)
		}
	}
}

// As many as may be at once, in all and on a node; who is refused does not hold a
// place, nor who fails again and again.
func TestConcurrent(t *testing.T) {
	limits := func(concurrent, perNode int32) func(*v1alpha1.Rollout) {
		return func(r *v1alpha1.Rollout) {
			r.MaxConcurrent, r.MaxConcurrentPerNode = concurrent, perNode
			r.Canary.Count = new(int32(0))
		}
	}
	starting, refused := "Staged JVMStarting", "Staged AttachDisabled"
	f := aFleet(t, 6, limits(3, 1))
	for _, pod := range f.pods {
		f.jvm(pod).fault = fault(v1alpha1.ReasonJVMStarting)
	}
	f.expect("one on each node", starting, isPending, starting, isPending, starting, isPending)
	f.later(time.Minute)
	f.expect("as long as it takes", starting, isPending, starting, isPending, starting, isPending)
	f.jvm(f.pods[0]).fault = nil
	f.later(time.Minute)
	f.expect("when one is done", isAnnotated, starting, starting, isPending, starting, isPending)
	f.jvm(f.pods[2]).fault = fault(v1alpha1.ReasonAttachDisabled)
	f.later(time.Minute)
	f.expect("when one is refused", isAnnotated, starting, refused, starting, starting, isPending)
	f.jvm(f.pods[4]).fault = fault(v1alpha1.ReasonAttachTimeout)
	f.later(2 * time.Minute)
	f.expect("when one fails", isAnnotated, starting, refused, starting, "Staged AttachTimeout", isPending)
	f.later(time.Minute)
	f.expect("when it was tried six times", isAnnotated, starting, refused, starting, "Staged AttachTimeout", starting)
}

// The canary rejects the configuration: nothing goes on, until something changes.
func TestConfigRejectedHalts(t *testing.T) {
	resume := map[string]func(*fleet){
		"the ConfigMap": func(f *fleet) { f.configure("lowercaseOutputLabelNames: true\n" + rules) },
		"the exporter": func(f *fleet) {
			change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
		},
		"the annotation": func(f *fleet) {
			change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "again"}
			})
		},
	}
	for what, resume := range resume {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 3, nil)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
			f.later(2 * time.Minute)
			f.jvm(f.pods[0]).fault = fault(v1alpha1.ReasonConfigRejected)
			f.configure(badPattern)
			f.expect("the canary rejects it", "Staged ConfigRejected", isAnnotated, isAnnotated)
			loaded := meta.FindStatusCondition(f.attachment(f.pods[0]).Status.Conditions, string(v1alpha1.PhaseLoaded))
			if loaded == nil || loaded.Status != metav1.ConditionFalse || loaded.Reason != v1alpha1.ReasonConfigRejected || !strings.Contains(loaded.Message, "The container says ConfigRejected.") {
				t.Errorf("the canary's condition Loaded is %+v", loaded)
			}
			f.expectSums("the canary rejects it", "1/2/3, Ready False ConfigRejected, Stalled True ConfigRejected")
			halt := f.exporter.Status.Halt
			if halt == nil || halt.Reason != v1alpha1.ReasonConfigRejected || !strings.HasPrefix(halt.Message, "Pod app-0: The container says ConfigRejected.") {
				t.Fatalf("halt is %+v", halt)
			}
			if events := f.o.events.with(v1alpha1.ReasonConfigRejected); len(events) == 0 || events[len(events)-1].Note != halt.Message {
				t.Errorf("of Events there are %v", events)
			}
			late := f.run(aPod("app-9"))
			f.pods = append(f.pods, late)
			f.o.settle()
			f.o.did()
			for range 3 {
				f.later(24 * time.Hour)
				f.o.settle()
			}
			if did := f.o.did(); len(did) > 0 {
				t.Errorf("stopped, it did %q", did)
			}
			f.expect("a pod that comes late", "Staged ConfigRejected", isAnnotated, isAnnotated, "JavaFound RolloutHalted")
			f.expectAsked("stopped", "2 1 1 0")
			if strings.Count(f.endpoints(f.exporter), ":9400") != 3 {
				t.Errorf("published is %q", f.endpoints(f.exporter))
			}

			f.jvm(f.pods[0]).fault = nil
			resume(f)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("in the end", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
			f.expectSums("in the end", "4/4/4, Ready True AllAnnotated, Stalled False Reconciled")
			if f.exporter.Status.Halt != nil {
				t.Errorf("halt stands: %+v", f.exporter.Status.Halt)
			}
		})
	}
}

// A container ends soon after an attach: that stops everything, and the container
// is left alone; later, it is attached to again at once and without a turn.
func TestRestart(t *testing.T) {
	cases := map[string]struct {
		after  time.Duration // the attach
		window time.Duration // none if 0
		ended  time.Duration // the kubelet says so long after the attach, if not 0
		how    func(*fleet)  // it is replaced, if otherwise
		halts  bool
		says   string
	}{
		"at once":                      {window: time.Minute, after: 3 * time.Second, halts: true, says: "Container app ended 3s after an attach."},
		"within the window":            {window: time.Minute, after: 50 * time.Second, halts: true, says: "ended 50s after"},
		"after it":                     {window: time.Minute, after: 2 * time.Minute},
		"seen late, but it ended soon": {window: time.Minute, after: time.Hour, ended: 7 * time.Second, halts: true, says: "ended 7s after an attach: exit code 137, OOMKilled"},
		"seen late, and ended late":    {window: time.Minute, after: time.Hour, ended: 5 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
				r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
				r.Canary.Count, r.Canary.MinReadySeconds = new(int32(1)), new(int32(3600*24))
				r.RestartWindow = &metav1.Duration{Duration: tc.window}
			})
			f.expect("at first", isAnnotated, isPending)
			began := f.attachment(f.pods[0]).Status.Processes[0].Intent.Time
			f.later(tc.after - f.clock.Now().Sub(began.Time) - time.Second) // settle takes a second
			f.restart(f.pods[0])
			if tc.ended != 0 {
				f.changeStatus(f.pods[0], func(status *corev1.PodStatus) {
					status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
						ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(began.Add(tc.ended)),
					}
				})
			}
			if !tc.halts {
				f.expect("it restarted", isAnnotated, isPending)
				if f.jvm(f.pods[0]).loads != 1 {
					t.Errorf("it is attached to %d times", f.jvm(f.pods[0]).loads)
				}
				if get(t, f.exporter); f.exporter.Status.Halt != nil {
					t.Errorf("halt is %+v", f.exporter.Status.Halt)
				}
				return
			}
			f.expect("it restarted", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			f.expectSums("it restarted", "1/0/2, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
			if !strings.Contains(f.exporter.Status.Halt.Message, tc.says) {
				t.Errorf("halt says %q", f.exporter.Status.Halt.Message)
			}
			if got := f.endpoints(f.exporter); got != "" {
				t.Errorf("published is %q", got)
			}
			f.restart(f.pods[0]) // and again
			f.later(time.Hour)
			f.expect("it restarts again", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			if f.jvm(f.pods[0]).loads > 0 {
				t.Error("it was attached to again")
			}
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "I have looked"}
			})
			f.expect("a person says so", isAnnotated, isPending)
		})
	}
}

// A JVM that was replaced while its container ran on, long ago, did not end of the
// change that finds it gone.
func TestGoneBeforeTheChange(t *testing.T) {
	s, o := annotated(t)
	s.container(s.pod).jvms = []*jvm{aJVM(javaStartTime + 1)}
	s.configure(changed)
	o.outlast()
	s.isAnnotated("9400")
	get(t, s.exporter)
	if s.exporter.Status.Halt != nil {
		t.Errorf("halt is %+v", s.exporter.Status.Halt)
	}
}

// Suspended: nothing new is done, and what is there stays, or goes with its JVM.
func TestSuspend(t *testing.T) {
	suspend := func(f *fleet, is bool) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = is })
	}
	const isSuspended = "JavaFound Suspended"
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	suspend(f, true)
	f.configure(changed)
	f.pods = append(f.pods, f.run(aPod("app-9")))
	f.expect("suspended", isAnnotated, isAnnotated, isSuspended)
	f.expectSums("suspended", "0/2/3, Ready False Suspended, Stalled False Reconciled")
	f.expectAsked("suspended", "1 1 0")
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	f.restart(f.pods[0])
	f.expect("a container restarts", isSuspended, isAnnotated, isSuspended)
	if got, want := f.endpoints(f.exporter), "app-1 "+f.pods[1].Status.PodIP+":9400"; got != want {
		t.Errorf("published is %q, not %q", got, want)
	}
	if left := f.annotations(f.pods[0]); len(left) > 0 {
		t.Errorf("what named the JVM that is gone is left: %v", left)
	}
	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("suspended, it did %q", f.o.did())
	}

	change(t, f.pods[1], func(pod *corev1.Pod) { pod.Labels["app"] = "other" })
	f.o.settle()
	if j := f.jvm(f.pods[1]); j.unloads != 1 || f.attachment(f.pods[1]) != nil {
		t.Error("suspended, a pod is not taken out")
	}
	f.pods = []*corev1.Pod{f.pods[0], f.pods[2]}

	suspend(f, false)
	f.expect("it goes on", isAnnotated, isPending)
	f.later(5 * time.Second)
	f.expect("in the end", isAnnotated, isAnnotated)
}

// The turn is a write of its own, made once.
func TestGrantIsWrittenOnce(t *testing.T) {
	f := aFleet(t, 2, nil)
	grants := 0
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.What == "jmx-exporter-operator/attachment" {
			grants++
		}
		return do()
	}
	f.o.settle()
	f.later(time.Minute)
	f.o.settle()
	f.later(time.Hour)
	f.o.settle()
	if grants != 4 { // of each pod the record, and its turn
		t.Errorf("records were written %d times", grants)
	}
}
