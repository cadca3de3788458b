package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// FindJava inspects every running container, and identifies the Java processes
// that are to be attached to.
type FindJava struct{ Helper Helper }

// Phase implements Step.
func (FindJava) Phase() statemachine.Phase { return statemachine.JavaFound }

// Lost implements Step: no process is left, a container has started, or others
// are to be chosen.
func (FindJava) Lost(s *Scope) statemachine.Event {
	inspected := s.Status().Inspected
	if len(s.Chosen()) == 0 || inspected == nil {
		return statemachine.Replaced
	}
	if !s.Granted { // nothing new
		return ""
	}
	if inspected.Rules != rules(s.Exporter) {
		return statemachine.Replaced
	}
	for _, c := range s.containers() {
		if !slices.Contains(inspected.ContainerIDs, c.id) {
			return statemachine.Replaced
		}
	}
	return ""
}

// Ensure implements Step.
func (f FindJava) Ensure(ctx context.Context, s *Scope) Outcome {
	containers, chosenBy := s.containers(), processRules(s.Exporter)
	if !s.Granted { // what is there is kept, whatever is chosen when the turn comes
		containers, chosenBy = running(s.Pod), nil
	}
	if len(containers) == 0 {
		return NotReached(v1alpha1.ReasonContainerNotRunning, notRunning(s))
	}
	seen := sighting{withoutJava: len(containers)}
	for _, c := range containers {
		if s.justStarted(c) {
			return in(c, NotReached(v1alpha1.ReasonJVMStarting, "It has just been started; it is looked into in some seconds."))
		}
		report, err := f.Helper.Run(ctx, Target(s.Pod, c.name), attach.VerbInspect, attach.Request{Rules: chosenBy})
		if err != nil {
			outcome := failed(err)
			if outcome.Reason == v1alpha1.ReasonQueued || mayPass(s, outcome) || !s.Granted && outcome.Kind != Stop {
				return in(c, outcome)
			}
			seen.obstacles = append(seen.obstacles, obstacle{container: c.name, outcome: outcome, whole: true})
			seen.withoutJava--
			continue
		}
		if len(report.Processes) > 0 {
			seen.withoutJava--
		}
		for _, p := range report.Processes {
			if !s.Granted && p.AgentJarOpen && p.Mark == nil {
				return in(c, NotReached(v1alpha1.ReasonAgentNotAnswering, "The agent is in the JVM, but does not say what it serves; it is asked again."))
			}
			refusal := refusalOf(p)
			if refusal != nil && mayPass(s, *refusal) {
				return in(c, *refusal)
			}
			if refusal != nil {
				seen.obstacles = append(seen.obstacles, obstacle{container: c.name, outcome: *refusal})
			}
			seen.add(c, p, refusal)
		}
	}
	var unwanted []v1alpha1.JavaProcess
	if s.Granted { // else all stays as it is
		unwanted = seen.unwanted(s)
	}
	for _, p := range unwanted {
		_, err := f.Helper.Run(ctx, Target(s.Pod, p.Container), attach.VerbUnload, attach.Request{Target: target(&p)})
		if err != nil {
			return in(container{name: p.Container}, failed(err))
		}
		seen.released(Identity(&p))
	}
	s.Status().Processes = seen.processes(s)
	s.Status().Inspected = &v1alpha1.Inspected{Time: s.Now, Incomplete: seen.mayPass()}
	if s.Granted {
		s.Status().Inspected.Rules = rules(s.Exporter)
	}
	recognise(s)
	for _, c := range containers[:min(len(containers), maxProcesses)] {
		s.Status().Inspected.ContainerIDs = append(s.Status().Inspected.ContainerIDs, c.id)
	}
	return seen.outcome(s)
}

// recognise takes endpoints over that are published: they answered to a record that
// is no more.
func recognise(s *Scope) {
	for _, p := range s.Chosen() {
		if published := (PublishedEndpoint{s.Pod.Status.PodIP, p.Port}); p.Endpoint == nil && slices.Contains(s.Published, published) {
			p.Endpoint = &v1alpha1.Endpoint{Address: published.Address, Port: published.Port, CheckedFrom: v1alpha1.CheckedFromOperator}
		}
	}
}

func notRunning(s *Scope) string {
	if len(s.Exporter.Spec.Containers) > 0 && len(running(s.Pod)) > 0 {
		return fmt.Sprintf("None of the containers that spec.containers names (%s) is running in the pod.", joined(s.Exporter.Spec.Containers))
	}
	return "No container of the pod is running."
}

func processRules(exporter *v1alpha1.PrometheusJmxExporter) []attach.ProcessRule {
	var rules []attach.ProcessRule
	for _, r := range exporter.Spec.Processes {
		rules = append(rules, attach.ProcessRule{
			Action: attach.RuleAction(r.Action), MainClass: string(r.MainClass), Argument: string(r.Argument),
		})
	}
	return rules
}

// refusalOf says why a process is not attached to; nil when nothing speaks
// against it. One that the rules exclude is no obstacle, whatever else it is.
func refusalOf(p attach.Process) *Outcome {
	switch {
	case p.Excluded:
		return nil
	case adopted(p) && p.Exporter.Port == 0:
		return new(NotReached(v1alpha1.ReasonStockExporterNotServing,
			"The stock JMX exporter is in the JVM already, but answers on no port. Ours is not loaded beside it; see what the application's output says of it."))
	case adopted(p) || p.Refusal == nil:
		return nil
	}
	return new(NotReached(string(p.Refusal.Reason), p.Refusal.Message))
}

// adopted tells whether the stock exporter is in the process, and no agent of ours.
func adopted(p attach.Process) bool {
	return p.Exporter != nil && p.Mark == nil && !p.AgentJarOpen
}

// mayPass tells whether to wait for what stands in the way of one process or
// container: a JVM that is starting, an exec that broke off. The others are not
// to go on without it for that, nor to wait for ever.
func mayPass(s *Scope, o Outcome) bool {
	return o.Kind != Stop && s.tries(v1alpha1.PhaseJavaFound) < patience
}

// maxProcesses is what a record holds, as its schema says.
const maxProcesses = 64

func joined(names []v1alpha1.ContainerName) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = string(n)
	}
	return strings.Join(all, ", ")
}
