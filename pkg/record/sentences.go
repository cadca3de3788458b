package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Held returns reason and message of the condition of a phase that holds.
func (r Record) Held(of statemachine.Phase) statemachine.Held {
	phase := v1alpha1.Phase(of)
	chosen := r.Summed()
	toLoad := slices.DeleteFunc(slices.Clone(chosen), func(p *v1alpha1.JavaProcess) bool { return p.Adopted })
	adopted := len(toLoad) == 0
	switch {
	case phase == v1alpha1.PhaseDiscovered:
		return statemachine.Held{Reason: v1alpha1.ReasonSelected, Message: fmt.Sprintf("PrometheusJmxExporter %s selects the pod.", r.Attachment.Spec.Exporter.Name)}
	case phase == v1alpha1.PhaseJavaFound:
		return statemachine.Held{Reason: v1alpha1.ReasonJVMIdentified, Message: strings.Join(slices.Concat(describe(chosen), r.throughDoors(), skipped(r.skips()), r.stopping()), " ")}
	case phase == v1alpha1.PhaseStaged && adopted:
		return statemachine.Held{Reason: v1alpha1.ReasonAdopted, Message: "Nothing is staged; the stock exporter is adopted as it is."}
	case phase == v1alpha1.PhaseStaged:
		return statemachine.Held{Reason: v1alpha1.ReasonFilesVerified, Message: "The agent and its configuration are staged and verified in container " + containersOf(toLoad) + "."}
	case phase == v1alpha1.PhaseLoaded && adopted:
		return statemachine.Held{Reason: v1alpha1.ReasonAdopted, Message: fmt.Sprintf("The stock exporter serves port %s with its own configuration; it is exposed as it is.", ports(chosen))}
	case phase == v1alpha1.PhaseLoaded:
		return statemachine.Held{Reason: v1alpha1.ReasonAgentServing, Message: strings.Join(append([]string{fmt.Sprintf("The agent serves port %s.", ports(chosen))}, warnings(chosen)...), " ")}
	case phase == v1alpha1.PhaseExposed:
		return statemachine.Held{Reason: v1alpha1.ReasonEndpointPublished, Message: exposed(chosen)}
	case phase == v1alpha1.PhaseAnnotated:
		return statemachine.Held{Reason: v1alpha1.ReasonAnnotationsApplied, Message: "The pod carries prometheus.io/scrape, port and path."}
	}
	return statemachine.Held{} // no phase of the plan: TestHeld
}

// stopping returns sentences about agents that must be stopped but are not yet.
func (r Record) stopping() []string {
	var sentences []string
	for _, p := range r.Filter(func(p *v1alpha1.JavaProcess) bool { return p.Excluded && p.Reason != "" }) {
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

// throughDoors lists the containers that are reached through ephemeral containers, and
// why.
func (r Record) throughDoors() []string {
	var sentences []string
	for _, c := range r.Status().Containers {
		if !ThroughDoor(&c) || c.Reason != "" {
			continue
		}
		why := ""
		if c.TransportReason != "" {
			why = " (exec: " + c.TransportReason + ")"
		}
		sentences = append(sentences, fmt.Sprintf("Container %s is reached through an ephemeral container%s.", c.Name, why))
	}
	return sentences
}
