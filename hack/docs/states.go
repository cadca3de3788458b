package main

import (
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// phaseText is what the code does not say of a phase in a word.
type phaseText struct{ holds, effect, observed string }

var phaseTexts = map[v1alpha1.Phase]phaseText{
	v1alpha1.PhaseDiscovered: {
		holds:    "The pod has the exporter's labels, runs, is not terminating, and belongs to this exporter: of several that select it, to the oldest.",
		effect:   "The JmxAttachment itself.",
		observed: "API: pods and exporters.",
	},
	v1alpha1.PhaseJavaFound: {
		holds:    "At least one Java process that can be attached to is identified: container ID, PID, start time, user and group, version, main class.",
		effect:   "The helper, in the agent directory of the container. Nothing in a container without Java.",
		observed: "The helper's `inspect` in each running container.",
	},
	v1alpha1.PhaseStaged: {
		holds:    "The configuration is valid; the container of each process has the agent and the configuration with the right digests. Nothing is staged for a stock exporter that is adopted.",
		effect:   "Three files in the agent directory.",
		observed: "The helper's `inspect`, which digests the files.",
	},
	v1alpha1.PhaseLoaded: {
		holds:    "The agent in each JVM reports that it serves that configuration on that port; or the stock exporter was in it already, and is adopted.",
		effect:   "The intent in the record, then the load; an agent that is in the JVM already is reconfigured by its file.",
		observed: "The agent's mark in the JVM, read by the helper; never the operator's memory.",
	},
	v1alpha1.PhaseExposed: {
		holds:    "`/metrics` answers on the pod's address for each JVM, and an EndpointSlice of the operator has the endpoint.",
		effect:   "One HTTP request. The exporter's controller writes the slice; this step waits to see it.",
		observed: "HTTP from the operator, from then on every ten seconds, or, if it cannot reach the pod, from the helper in the pod; API: EndpointSlices.",
	},
	v1alpha1.PhaseAnnotated: {
		holds:    "The pod carries `prometheus.io/scrape`, `prometheus.io/port`, `prometheus.io/path` and `banzaicloud.com/jmx-attachment`, and no other field manager owns them.",
		effect:   "One server-side apply on the pod, never forced, as soon as its primary JVM is Exposed.",
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

A pod goes through these phases in this order: Discovered, JavaFound and Annotated are the pod's, Staged, Loaded and Exposed are walked by each of its JVMs by itself, and the pod is as far as the least advanced of them, refused ones aside. Each is also the type of a condition of its status, and a phase holds only with all before it: ` + "`status.phase`" + ` is the last phase of the unbroken row of True conditions, and Pending when there is none. Phase and conditions are written in one apply, so they cannot disagree.

` + "```mermaid\n" + strings.TrimRight(strings.ReplaceAll(diagram, "\t", "    "), " \n") + "\n```" + `

## What each phase means

| phase | it holds when | effect of its step | how it is observed |
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
Failure is not a phase. The condition of the next phase is then False, or Unknown while nothing is wrong, with a reason of [troubleshooting.md](troubleshooting.md) and a sentence; later conditions are Unknown, and the phase stays the last one that holds.

## What moves it

| transition | from | to | it happens when |
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
Going backwards withdraws neither the endpoint nor the annotations: what Prometheus scrapes follows the endpoint that answered last, ` + "`endpoint` of each process in the record" + `. Only ` + "`replaced`" + ` withdraws both, for JVMs that are gone.

Detaching is not a phase, either. When the pod is no longer matched, opts out, or its exporter is deleted, the same steps undo their effects in reverse order: annotations, endpoints, agents, files; then the record is deleted. When another exporter takes the pod over, agents and annotations stay.

A PrometheusJmxExporter has the phase of the least advanced of its pods, refused ones aside: Pending when it matches none, Refused when all that it matches are refused. Its ` + "`status.metricsEndpoints`" + ` lists the endpoints of pods whose Exposed is True, so a pod that went backwards is missing there while its EndpointSlice still has it.
`)
	return b.String(), nil
}

// causes are what a transition is due to: the sentences of the condition that it
// takes away, or that its phase holds.
func causes(t statemachine.Transition) []string {
	var sentences []string
	for _, c := range steps.Causes {
		if c.Back == t.Name {
			sentences = append(sentences, fmt.Sprintf("%s: %s", c.Reason, c.Message))
		}
	}
	if len(sentences) == 0 {
		return []string{fmt.Sprintf("%s holds.", t.To)}
	}
	return sentences
}
