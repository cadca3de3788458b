package main

import (
	_ "embed"
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// phaseText describes a phase where the code does not.
type phaseText struct{ holds, effect, observed string }

var phaseTexts = map[v1alpha1.Phase]phaseText{
	v1alpha1.PhaseDiscovered: {
		holds:    "The pod has the exporter's labels, runs, is not terminating, and belongs to this exporter, the oldest that selects it.",
		effect:   "The JmxAttachment itself.",
		observed: "API: pods and exporters.",
	},
	v1alpha1.PhaseJavaFound: {
		holds:    "At least one attachable Java process is identified: container ID, PID, start time, user and group, version, main class.",
		effect:   "The helper in the agent directory of the container; nothing in a container without Java.",
		observed: "The helper's `inspect` in each running container.",
	},
	v1alpha1.PhaseStaged: {
		holds:    "The configuration is valid, and the container of each process has the agent and its configuration with the right digests. Nothing is staged for an adopted stock exporter.",
		effect:   "Three files in the agent directory.",
		observed: "The helper's `inspect`, which computes the digests.",
	},
	v1alpha1.PhaseLoaded: {
		holds:    "The agent in each JVM reports that it serves that configuration on that port, or the stock exporter is adopted.",
		effect:   "The intent in the record, then the load. An agent that is already in the JVM is reconfigured through its file.",
		observed: "The agent's mark in the JVM, read by the helper; never the operator's own memory.",
	},
	v1alpha1.PhaseExposed: {
		holds:    "`/metrics` answers at the pod's address for each JVM, and an EndpointSlice of the operator lists the endpoint.",
		effect:   "One HTTP request. The exporter controller writes the slice; this step waits for it.",
		observed: "HTTP from the operator, repeated every ten seconds, or from the helper inside the pod if the operator cannot reach it; API: EndpointSlices.",
	},
	v1alpha1.PhaseAnnotated: {
		holds:    "The pod carries `prometheus.io/scrape`, `prometheus.io/port`, `prometheus.io/path` and `banzaicloud.com/jmx-attachment`, and no other field manager owns them.",
		effect:   "One server-side apply to the pod, never forced, as soon as its primary JVM is Exposed.",
		observed: "API: the pod's annotations and their field managers.",
	},
}

func statesPage() (string, error) {
	diagram, err := steps.Plan.Diagram()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# Phases

A pod goes through these phases in this order. Discovered, JavaFound and Annotated belong to the pod; each of its JVMs goes through Staged, Loaded and Exposed independently, and the pod's phase is that of its least advanced JVM, refused ones aside. Each phase is also a condition type, and holds only if all phases before it hold: ` + "`status.phase`" + ` is the last phase before the first condition that is not True, or Pending. Phase and conditions are written in one apply, so they cannot disagree.

` + "```mermaid\n" + strings.TrimRight(strings.ReplaceAll(diagram, "\t", "    "), " \n") + "\n```" + `

## What each phase means

| phase | holds when | effect of its step | observed through |
| --- | --- | --- | --- |
`)
	for _, phase := range v1alpha1.Phases() {
		text, ok := phaseTexts[phase]
		if !ok {
			return "", fmt.Errorf("hack/docs/states.go says nothing of the phase %s", phase)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", phase, text.holds, text.effect, text.observed)
	}
	b.WriteString(`
Failure is not a phase. The condition of the next phase is False on a failure, or Unknown if nothing is wrong, with a reason from [troubleshooting.md](troubleshooting.md) and a message. Later conditions are Unknown, and the phase remains the last one that holds.

## Transitions

| transition | from | to | happens when |
| --- | --- | --- | --- |
`)
	for _, t := range steps.Plan.Transitions() {
		from := make([]string, len(t.From))
		for i, phase := range t.From {
			from[i] = string(phase)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", t.Name, strings.Join(from, ", "), t.To, strings.Join(causes(t), " "))
	}
	b.WriteString(`
The cause decides how far a record goes back. Causes are looked for in this order, and the first one that applies counts. ` + "`=`" + ` means that the record has not come that far, and keeps its phase.

| cause | ` + strings.Join(phaseNames(), " | ") + ` |
| --- |` + strings.Repeat(" --- |", len(phaseNames())) + `
`)
	for _, c := range steps.Causes() {
		fmt.Fprintf(&b, "| %s |", c.Reason)
		for _, phase := range steps.Plan.Phases() {
			after := steps.PhaseAfter(c.Cause, phase)
			if after == phase {
				after = "="
			}
			fmt.Fprintf(&b, " %s |", after)
		}
		b.WriteString("\n")
	}
	b.WriteString(`
Going back withdraws neither the endpoint nor the annotations: Prometheus keeps scraping the endpoint that answered last, ` + "`endpoint` of each process in the record" + `. Only ` + "`replaced`" + ` withdraws both, for JVMs that are gone.

[Detaching](lifecycle.md#detaching) is not a phase, either: the same steps undo their effects in reverse order.

A PrometheusJmxExporter has the phase of its least advanced pod, refused ones aside: Pending if it matches none, Refused if all matched pods are refused. Its ` + "`status.metricsEndpoints`" + ` lists the endpoints of pods whose Exposed is True, so a pod that went back is missing there while its EndpointSlice still lists it.
`)
	b.WriteString("\n" + decisions)
	return b.String(), nil
}

// decisions is checked against pkg/steps, by its tests.
//
//go:embed decisions.md
var decisions string

func phaseNames() []string {
	var names []string
	for _, phase := range v1alpha1.Phases() {
		names = append(names, string(phase))
	}
	return names
}

// causes returns the messages of the conditions that cause a transition or, without any,
// that its phase holds.
func causes(t statemachine.Transition) []string {
	var sentences []string
	for _, c := range steps.Causes() {
		if c.Back == t.Name {
			sentences = append(sentences, fmt.Sprintf("%s: %s", c.Reason, c.Message))
		}
	}
	if len(sentences) == 0 {
		return []string{fmt.Sprintf("%s holds.", t.To)}
	}
	return sentences
}
