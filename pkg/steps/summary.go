package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// found returns the Outcome of JavaFound for the pod: it holds if a JVM can be attached
// to. Otherwise the Outcome is that of the obstacle, preferring temporary ones, so that
// a pod is refused only if no JVM can still start in any of its containers.
func (s *Scope) found() statemachine.Outcome {
	if len(s.attachable()) > 0 {
		return Done()
	}
	obstacles := s.obstacles()
	for _, o := range obstacles {
		if o.outcome.Kind != statemachine.Refused {
			outcome := o.named()
			outcome.RetryAfter = s.retryAfter
			return outcome
		}
	}
	processes := s.Status().Processes
	// A refused JVM decides. A container that cannot be inspected does not, as long as
	// another one may be about to start a JVM.
	for _, o := range obstacles {
		if o.process != nil || len(processes) == 0 && len(obstacles) == len(s.Status().Containers) {
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

func (o obstacle) named() statemachine.Outcome { return in(o.container, o.outcome) }

func (s *Scope) obstacles() []obstacle {
	var obstacles []obstacle
	for i := range s.Status().Containers {
		if c := &s.Status().Containers[i]; c.Reason != "" {
			obstacles = append(obstacles, obstacle{container: c.Name, outcome: NotDone(c.Reason, c.Message)})
		}
	}
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && p.Phase == v1alpha1.PhaseDiscovered }) {
		obstacles = append(obstacles, obstacle{container: p.Container, process: p, outcome: NotDone(p.Reason, p.Message)})
	}
	return obstacles
}

func skipped(obstacles []obstacle) []string {
	var sentences []string
	for _, o := range obstacles {
		sentences = append(sentences, fmt.Sprintf("Skipped container %s: %s.", o.container, o.outcome.Reason))
	}
	return sentences
}

// Sum returns the state of the pod derived from its JVMs: that of the least advanced
// one, refused ones aside. The pod's own phases, before and after theirs, stay.
func (s *Scope) Sum(pod statemachine.State) statemachine.State {
	if !Plan.Reached(pod.Phase, JavaFound) {
		return pod
	}
	var least *JVM
	for _, p := range s.summed() {
		j := &JVM{s, p}
		if least == nil || Plan.Least(j.phase(), least.phase()) != least.phase() {
			least = j
		}
	}
	if least == nil {
		return pod
	}
	if phase := least.phase(); !Plan.Reached(phase, Exposed) {
		state := least.State()
		state.Phase = phase
		state.Message = s.named(least.Process, state.Message)
		return state
	}
	if !Plan.Reached(pod.Phase, Exposed) {
		return statemachine.State{Phase: Exposed}
	}
	return pod
}

// phase returns the phase of the JVM, at least JavaFound, which another JVM has brought
// about for the pod.
func (j *JVM) phase() statemachine.Phase {
	if phase := j.State().Phase; Plan.Reached(phase, JavaFound) {
		return phase
	}
	return JavaFound
}

// named prefixes the message with container and process if the pod has several.
func (s *Scope) named(p *v1alpha1.JavaProcess, message string) string {
	if message == "" || len(s.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded })) == 1 {
		return message
	}
	return fmt.Sprintf("Container %s, process %d: %s", p.Container, p.PID, message)
}

// Held returns reason and message of the condition of a phase that holds.
func (s *Scope) Held(phase statemachine.Phase) statemachine.Held {
	chosen := s.summed()
	toLoad := slices.DeleteFunc(slices.Clone(chosen), func(p *v1alpha1.JavaProcess) bool { return p.Adopted })
	adopted := len(toLoad) == 0
	switch {
	case phase == Discovered:
		return statemachine.Held{Reason: v1alpha1.ReasonSelected, Message: fmt.Sprintf("PrometheusJmxExporter %s selects the pod.", s.Exporter.Name)}
	case phase == JavaFound:
		return statemachine.Held{Reason: v1alpha1.ReasonJVMIdentified, Message: strings.Join(slices.Concat(describe(chosen), s.throughDoors(), skipped(s.skips()), s.stopping()), " ")}
	case phase == Staged && adopted:
		return statemachine.Held{Reason: v1alpha1.ReasonAdopted, Message: "Nothing is staged; the stock exporter is adopted as it is."}
	case phase == Staged:
		return statemachine.Held{Reason: v1alpha1.ReasonFilesVerified, Message: "The agent and its configuration are staged and verified in container " + containersOf(toLoad) + "."}
	case phase == Loaded && adopted:
		return statemachine.Held{Reason: v1alpha1.ReasonAdopted, Message: fmt.Sprintf("The stock exporter serves port %s with its own configuration; it is exposed as it is.", ports(chosen))}
	case phase == Loaded:
		return statemachine.Held{Reason: v1alpha1.ReasonAgentServing, Message: strings.Join(append([]string{fmt.Sprintf("The agent serves port %s.", ports(chosen))}, warnings(chosen)...), " ")}
	case phase == Exposed:
		return statemachine.Held{Reason: v1alpha1.ReasonEndpointPublished, Message: exposed(chosen)}
	}
	return statemachine.Held{Reason: v1alpha1.ReasonAnnotationsApplied, Message: "The pod carries prometheus.io/scrape, port and path."}
}

// skips returns the obstacles other than the JVMs that are attached to.
func (s *Scope) skips() []obstacle {
	all, summed := s.obstacles(), s.summed()
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool {
		return p.Phase != v1alpha1.PhaseDiscovered && !p.Excluded && Refused(p)
	}) {
		if slices.Contains(summed, p) {
			continue
		}
		all = append(all, obstacle{container: p.Container, process: p, outcome: NotDone(p.Reason, p.Message)})
	}
	return all
}

// stopping returns sentences about agents that must be stopped but are not yet.
func (s *Scope) stopping() []string {
	var sentences []string
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.Excluded && p.Reason != "" }) {
		sentences = append(sentences, fmt.Sprintf("The agent in container %s, process %d is not yet stopped: %s.", p.Container, p.PID, p.Reason))
	}
	return sentences
}

func describe(chosen []*v1alpha1.JavaProcess) []string {
	var sentences []string
	for i, p := range chosen {
		if i == 3 && len(chosen) > 4 {
			return append(sentences, fmt.Sprintf("And %d more.", len(chosen)-i))
		}
		vm := strings.TrimSpace(p.VM + " " + p.Version)
		sentence := fmt.Sprintf("%s runs %s in container %s", vm, cmp.Or(p.MainClass, "a Java program"), p.Container)
		if p.Adopted {
			sentence += fmt.Sprintf(", with the stock exporter on port %d", p.Port)
		}
		sentences = append(sentences, sentence+".")
	}
	return sentences
}

func ports(processes []*v1alpha1.JavaProcess) string {
	var ports []string
	for _, p := range processes {
		ports = append(ports, strconv.Itoa(int(p.Port)))
	}
	return strings.Join(ports, ", ")
}

// warnings returns what loads printed on the application's output, without duplicates.
func warnings(processes []*v1alpha1.JavaProcess) []string {
	var warnings []string
	for _, p := range processes {
		if p.Warning != "" && !slices.Contains(warnings, p.Warning) {
			warnings = append(warnings, p.Warning)
		}
	}
	return warnings
}

func exposed(chosen []*v1alpha1.JavaProcess) string {
	message := fmt.Sprintf("/metrics answers on port %s and is listed in an EndpointSlice.", ports(chosen))
	if slices.ContainsFunc(chosen, func(p *v1alpha1.JavaProcess) bool {
		return p.Endpoint != nil && p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod
	}) {
		message += " The probe runs inside the pod because the operator cannot reach the endpoint; a NetworkPolicy or service mesh may block Prometheus, too. A JVM that is replaced while its container runs is detected when the pod becomes ready again, or at the next change."
	}
	return message
}

// containersOf lists the containers of processes without duplicates.
func containersOf(processes []*v1alpha1.JavaProcess) string {
	var names []string
	for _, p := range processes {
		if !slices.Contains(names, p.Container) {
			names = append(names, p.Container)
		}
	}
	return strings.Join(names, ", ")
}
