package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/exporter"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
)

// alerts turns on problem reports of the exporter, with log lines.
func (c *cluster) alerts(name string, lines int32) *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	c.configure(rules)
	e := c.anExporter(name)
	e.Spec.Alerts = v1alpha1.Alerts{CheckRunningPods: true, LogLines: lines}
	return create(c.t, e)
}

// tell makes the operator read these logs.
func (o *operator) tell(logs podlog.Logs) {
	o.logs = podlog.NewReader(logs, o.clock)
	o.exporters.(*exporter.Reconciler).Logs = o.logs
}

// readLogs reads the logs that exporters ask for, and reports whether there were any.
func (o *operator) readLogs() bool {
	o.t.Helper()
	requests := o.logs.Unread()
	for _, request := range requests {
		if _, err := o.logs.Reconcile(o.t.Context(), request); err != nil {
			o.t.Fatal(err)
		}
	}
	return len(requests) > 0
}

// crash does what a kubelet would when the pod's container app fails for the n-th time,
// and is in back-off.
func (c *cluster) crash(pod *corev1.Pod, n int32) {
	c.t.Helper()
	c.changeStatus(pod, func(status *corev1.PodStatus) {
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: "app", RestartCount: n, ContainerID: fmt.Sprintf("containerd://app-%d", restarts.Add(1)),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %ds restarting failed container=app", 10*n),
			}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", Message: "password=hunter2", FinishedAt: metav1.NewTime(c.clock.Now()),
			}},
		}
	})
}

// runAgain does what a kubelet would after the back-off.
func (c *cluster) runAgain(pod *corev1.Pod, n int32) {
	c.t.Helper()
	c.changeStatus(pod, func(status *corev1.PodStatus) {
		s := &status.ContainerStatuses[0]
		s.RestartCount = n
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.clock.Now())}}
	})
}

// problems returns the exporter's, one per line.
func (c *cluster) problems(e *v1alpha1.PrometheusJmxExporter) []string {
	c.t.Helper()
	get(c.t, e)
	var all []string
	for _, p := range e.Status.ProblemPods {
		all = append(all, fmt.Sprintf("%s/%s %s x%d: %s", p.Pod, p.Container, p.Reason, p.RestartCount, p.Message))
	}
	return all
}

const crashed = "The container terminated with exit code 1 (Error)"

// A pod that does not run is reported once, and running pods are attached to nevertheless.
func TestProblemPods(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.exporter = s.alerts("exporter", 0)
	s.pod = s.run(aPod("app-0"))
	crashing := s.run(aPod("app-1").without("app"))
	s.crash(crashing, 1)
	evicted := s.run(aPod("app-2"))
	s.changeStatus(evicted, func(status *corev1.PodStatus) {
		*status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}
	})
	pending := s.run(aPod("app-3"))
	s.changeStatus(pending, func(status *corev1.PodStatus) {
		*status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}}
	})
	unlabelled := aPod("other")
	unlabelled.pod.Labels = map[string]string{"app": "other"}
	s.crash(s.run(unlabelled), 1)

	o.settle()
	want := []string{
		"app-1/app CrashLoopBackOff x1: " + crashed,
		"app-2/ Evicted x0: The node was low on resource: memory",
		"app-3/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient cpu",
	}
	if diff := cmp.Diff(want, s.problems(s.exporter)); diff != "" {
		t.Errorf("problem pods (-want +got):\n%s", diff)
	}
	if a := s.attachment(s.pod); phaseOf(a) != "Annotated" {
		t.Errorf("phase of %s: got %q, want %q", s.pod.Name, phaseOf(a), "Annotated")
	}
	for reason, note := range map[string]string{
		"CrashLoopBackOff": "Pod app-1, container app: CrashLoopBackOff: " + crashed,
		"Evicted":          "Pod app-2: Evicted: The node was low on resource: memory",
		"Unschedulable":    "Pod app-3: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu",
	} {
		if diff := cmp.Diff([]event{{corev1.EventTypeWarning, reason, note, "*v1alpha1.PrometheusJmxExporter"}}, o.events.with(reason)); diff != "" {
			t.Errorf("Events (-want +got):\n%s", diff)
		}
	}
	for reason, want := range map[string]float64{"CrashLoopBackOff": 1, "Evicted": 1, "Unschedulable": 1, "Omitted": 0} {
		if got := s.measured(s.exporter, reason); got != want {
			t.Errorf("metric of problem pods with reason %s: got %v, want %v", reason, got, want)
		}
	}

	t.Run("nothing is written while nothing changes", func(t *testing.T) {
		before := s.resourceVersions()
		o.did()
		s.changeStatus(crashing, func(status *corev1.PodStatus) {
			status.ContainerStatuses[0].State.Waiting.Message = "back-off 5m0s restarting failed container=app"
		})
		s.changeStatus(pending, func(status *corev1.PodStatus) {
			status.Conditions[0].Message = "0/4 nodes are available: 4 Insufficient cpu."
		})
		// The cache trims these pods, so the test does not compare these two messages.
		delete(before, "pod/app-1")
		delete(before, "pod/app-3")
		if o.settle(); o.count() > 0 {
			t.Errorf("effects without a change: got %q, want none", o.did())
		}
		after := s.resourceVersions()
		delete(after, "pod/app-1")
		delete(after, "pod/app-3")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("resourceVersions (-before +after):\n%s", diff)
		}
	})
	t.Run("a crash loop is one Event, and one write per restart", func(t *testing.T) {
		for n := int32(2); n < 4; n++ {
			s.runAgain(crashing, n)
			o.did()
			o.settle()
			if diff := cmp.Diff(fmt.Sprintf("app-1/app CrashLoopBackOff x%d: %s", n, crashed), s.problems(s.exporter)[0]); diff != "" {
				t.Errorf("problem after a restart (-want +got):\n%s", diff)
			}
			before := s.problems(s.exporter)
			s.later(10 * time.Second)
			s.crash(crashing, n)
			o.settle()
			if diff := cmp.Diff(before, s.problems(s.exporter)); diff != "" {
				t.Errorf("problems after another back-off (-before +after):\n%s", diff)
			}
		}
		if events := o.events.with("CrashLoopBackOff"); len(events) > 0 {
			t.Errorf("CrashLoopBackOff Events: got %v, want none", events)
		}
	})
	t.Run("a pod that runs for a minute is no problem", func(t *testing.T) {
		s.runAgain(crashing, 4)
		if again := o.settle(); again <= 0 || again > time.Minute {
			t.Errorf("next reconciliation: got %s, want at most 1m", again)
		}
		s.later(time.Minute)
		o.settle()
		if diff := cmp.Diff(want[1:], s.problems(s.exporter)); diff != "" {
			t.Errorf("problem pods (-want +got):\n%s", diff)
		}
	})
	t.Run("problem reports are turned off", func(t *testing.T) {
		ready, phase := s.exporter.Status.Conditions, s.exporter.Status.Phase
		change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Alerts.CheckRunningPods = false })
		o.settle()
		if left := s.problems(s.exporter); len(left) > 0 || s.measured(s.exporter, "Evicted") > 0 {
			t.Errorf("problem pods after turning reports off: got %v, want none", left)
		}
		for i := range ready {
			ready[i].ObservedGeneration++
		}
		if diff := cmp.Diff(ready, s.exporter.Status.Conditions); diff != "" || phase != s.exporter.Status.Phase {
			t.Errorf("turning reports off changes the exporter's phase or conditions:\n%s", diff)
		}
	})
}

// measured returns the scraped metric of the exporter's problem pods.
func (c *cluster) measured(e *v1alpha1.PrometheusJmxExporter, reason string) float64 {
	c.t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewProblemCollector(inNamespace{admin, c.namespace}, true))
	families, err := registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if cmp.Equal(labels, map[string]string{"namespace": c.namespace, "exporter": e.Name, "reason": reason}) {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// inNamespace lists the objects of one namespace.
type inNamespace struct {
	client.Reader
	namespace string
}

// List implements client.Reader.
func (r inNamespace) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return r.Reader.List(ctx, list, client.InNamespace(r.namespace))
}

// Of many problem pods, the first 50 by name are listed, and the API server accepts them at
// their maximum size.
func TestManyProblemPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	o.tell(scriptedLogs(func(types.NamespacedName, bool) (string, error) { return strings.Repeat("ä\x00\n", 5000), nil }))
	e := c.alerts("exporter", 50)
	for i := range 53 {
		pod := c.run(aPod(fmt.Sprintf("app-%02d", 52-i)).without("app"))
		c.crash(pod, 1)
		c.changeStatus(pod, func(status *corev1.PodStatus) {
			last := status.ContainerStatuses[0].LastTerminationState.Terminated
			last.Reason, last.Message = "StartError", strings.Repeat("ä\x01", 2000)
		})
	}
	o.settle()
	problems := c.problems(e)
	if len(problems) != 50 || e.Status.ProblemPodsOmitted != 3 {
		t.Fatalf("got %d listed and %d omitted problem pods, want 50 and 3", len(problems), e.Status.ProblemPodsOmitted)
	}
	for i, p := range problems {
		if !strings.HasPrefix(p, fmt.Sprintf("app-%02d/", i)) {
			t.Errorf("problem pod %d: got %s", i, p)
		}
	}
	for _, p := range e.Status.ProblemPods {
		if len(p.Log) < 4000 || len(p.Log) > 4096 || len(p.Message) > 512 {
			t.Errorf("got %d bytes of log and %d of message", len(p.Log), len(p.Message))
		}
	}
	if got := c.measured(e, "Omitted"); got != 3 {
		t.Errorf("metric of omitted pods: got %v, want 3", got)
	}
}
