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
		return statemachine.Held{Reason: v1alpha1.ReasonJVMIdentified, Message: strings.Join(slices.Concat(describe(chosen), r.reached(), skipped(r.skips()), r.stopping()), " ")}
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

// AdviceOnWarning is what to do about the warning lines of JEP 451, in this order.
const AdviceOnWarning = "To load without them, give the JVM -XX:+EnableDynamicAgentLoading with spec.atNextStart: AllowAttach, or in the pod template, then replace the pod."

// warnings returns what loads printed on the application's output, without duplicates, and
// what to do about it.
func warnings(processes []*v1alpha1.JavaProcess) []string {
	var warnings []string
	for _, p := range processes {
		if p.Warning != "" && !slices.Contains(warnings, p.Warning) {
			warnings = append(warnings, p.Warning)
		}
	}
	if len(warnings) > 0 {
		warnings = append(warnings, AdviceOnWarning)
	}
	return warnings
}

func exposed(chosen []*v1alpha1.JavaProcess) string {
	message := fmt.Sprintf("/metrics answers on port %s and is listed in an EndpointSlice.", ports(chosen))
	from := func(from v1alpha1.CheckedFrom) bool {
		return slices.ContainsFunc(chosen, func(p *v1alpha1.JavaProcess) bool { return p.Endpoint != nil && p.Endpoint.CheckedFrom == from })
	}
	const blocked = " because the operator cannot reach the endpoint; a NetworkPolicy or service mesh may block Prometheus, too. A JVM that is replaced while its container runs is detected when the pod becomes ready again, or at the next change."
	switch {
	case from(v1alpha1.CheckedFromPod):
		message += " The probe runs inside the pod" + blocked
	case from(v1alpha1.CheckedFromNode):
		message += " The node agent checks that the JVM listens there, and requests nothing," + blocked
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

// reached lists the containers that are reached by another transport than exec, or by exec
// in place of another one, and why.
func (r Record) reached() []string {
	var sentences []string
	for _, c := range r.Status().Containers {
		var by string
		switch c.Transport {
		case v1alpha1.TransportEphemeralContainer:
			by = "through an ephemeral container"
		case v1alpha1.TransportNode:
			by = "by the node agent on node " + r.Status().NodeName
		default:
			by = "by exec"
		}
		why := because(c.TransportReason)
		if c.Reason != "" || why == "" && (c.Transport == "" || c.Transport == v1alpha1.TransportExec) {
			continue
		}
		sentences = append(sentences, fmt.Sprintf("Container %s is reached %s%s.", c.Name, by, why))
	}
	return sentences
}

// because returns why another transport was not taken: which one, and the reason.
func because(reason string) string {
	switch reason {
	case "":
		return ""
	case v1alpha1.ReasonNoShell, v1alpha1.ReasonHelperNotExecutable:
		return " (exec: " + reason + ")"
	}
	return " (node agent: " + reason + ")"
}
