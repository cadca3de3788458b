package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Found returns the Outcome of JavaFound for the pod: it holds if a JVM can be attached
// to. Otherwise the Outcome is that of the obstacle, preferring temporary ones, so that
// a pod is refused only if no JVM can still start in any of its containers. An inspection
// that is known to make no sense before retryAfter is not repeated earlier; 0 if none is.
func (r Record) Found(retryAfter time.Duration) statemachine.Outcome {
	if len(r.Attachable()) > 0 {
		return Done()
	}
	obstacles := r.obstacles()
	for _, o := range obstacles {
		if o.outcome.Kind != statemachine.Refused {
			outcome := o.named()
			outcome.RetryAfter = retryAfter
			return outcome
		}
	}
	processes := r.Status().Processes
	// A refused JVM decides. A container that cannot be inspected does not, as long as
	// another one may be about to start a JVM.
	for _, o := range obstacles {
		if o.process != nil || len(processes) == 0 && len(obstacles) == len(r.Status().Containers) {
			return o.named()
		}
	}
	if len(processes) > 0 {
		return NotDone(v1alpha1.ReasonNoProcessIncluded, fmt.Sprintf("The rules in spec.processes exclude all %d Java processes of the pod.", len(processes)))
	}
	return NotDone(v1alpha1.ReasonNoJavaProcess, strings.Join(append([]string{"No container of the pod runs a Java process."}, skipped(obstacles)...), " "))
}

// obstacle is why a container cannot be inspected, or a process cannot be attached to.
type obstacle struct {
	container string
	process   *v1alpha1.JavaProcess
	outcome   statemachine.Outcome
}

// named prefixes the message of the outcome with the container.
func (o obstacle) named() statemachine.Outcome {
	o.outcome.Message = fmt.Sprintf("Container %s: %s", o.container, o.outcome.Message)
	return o.outcome
}

func (r Record) obstacles() []obstacle {
	var obstacles []obstacle
	for i := range r.Status().Containers {
		if c := &r.Status().Containers[i]; c.Reason != "" {
			obstacles = append(obstacles, obstacle{container: c.Name, outcome: NotDone(c.Reason, c.Message)})
		}
	}
	for _, p := range r.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && p.Phase == v1alpha1.PhaseDiscovered }) {
		obstacles = append(obstacles, obstacle{container: p.Container, process: p, outcome: NotDone(p.Reason, p.Message)})
	}
	return obstacles
}

// skips returns the obstacles other than the JVMs that are attached to.
func (r Record) skips() []obstacle {
	all, summed := r.obstacles(), r.Summed()
	for _, p := range r.Filter(func(p *v1alpha1.JavaProcess) bool {
		return p.Phase != v1alpha1.PhaseDiscovered && !p.Excluded && Refused(p)
	}) {
		if slices.Contains(summed, p) {
			continue
		}
		all = append(all, obstacle{container: p.Container, process: p, outcome: NotDone(p.Reason, p.Message)})
	}
	return all
}

func skipped(obstacles []obstacle) []string {
	var sentences []string
	for _, o := range obstacles {
		sentences = append(sentences, fmt.Sprintf("Skipped container %s: %s.", o.container, o.outcome.Reason))
	}
	return sentences
}
