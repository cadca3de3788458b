package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// annotated is a pod that has been Annotated for some time.
func annotated(t *testing.T) (*story, *operator) {
	t.Helper()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	o.settle()
	s.isAnnotated("9400")
	if t.Failed() {
		t.FailNow()
	}
	s.prove(o)
	o.did()
	s.containers.Called()
	return s, o
}

// longRunning is a pod with these containers, of an exporter with the API's defaults and
// a change, after some time.
func longRunning(t *testing.T, pod *podBuilder, how func(*v1alpha1.PrometheusJmxExporter)) (*story, *operator) {
	t.Helper()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	if how != nil {
		how(s.exporter)
	}
	create(t, s.exporter)
	o.settle()
	s.prove(o)
	o.did()
	s.containers.Called()
	return s, o
}

// withWorker returns a pod with a second container that has a JVM, too.
func withWorker() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) }

// prove lets enough time pass for the attach to prove harmless.
func (s *story) prove(o *operator) {
	s.t.Helper()
	s.later(2 * time.Minute)
	o.settle()
}

// neverHalt allows containers to exit at any time after an attach.
func (s *story) neverHalt() {
	s.t.Helper()
	change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Rollout.RestartWindow = &metav1.Duration{} })
}

// ready sets whether the pod is ready.
func (s *story) ready(is corev1.ConditionStatus) {
	s.t.Helper()
	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		status.Conditions[0].Status = is
		status.Conditions[0].LastTransitionTime = metav1.NewTime(s.clock.Now())
	})
}

func phaseOf(a *v1alpha1.JmxAttachment) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s", a.Status.Phase, a.Status.Reason), " ")
}

// annotatedBy returns the annotations of an Annotated pod, in addition to its own.
func annotatedBy(attachment *v1alpha1.JmxAttachment, port string) map[string]string {
	return map[string]string{
		"prometheus.io/scrape": "true", "prometheus.io/port": port, "prometheus.io/path": "/metrics",
		"banzaicloud.com/jmx-attachment": attachment.Name,
	}
}

// left returns why a process is not attached to; empty if it is.
func left(p *v1alpha1.JavaProcess) string {
	if p.Excluded {
		return "Excluded"
	}
	return p.Reason
}

// processes returns a line for each: container, port and refusal.
func (s *story) processes() []string {
	s.t.Helper()
	var lines []string
	for _, p := range s.attachment(s.pod).Status.Processes {
		line := fmt.Sprintf("%s %d %s", p.Container, p.Port, left(&p))
		if p.Adopted {
			line += "adopted"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func (s *story) message(condition string) string {
	s.t.Helper()
	c := meta.FindStatusCondition(s.attachment(s.pod).Status.Conditions, condition)
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// verbs returns those run since the previous call.
func (s *story) verbs() string {
	var verbs []string
	for _, verb := range s.containers.Called() {
		verbs = append(verbs, string(verb))
	}
	return strings.Join(verbs, " ")
}
