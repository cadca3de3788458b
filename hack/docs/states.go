package main

import (
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
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
		effect:   "The helper, in its directory in the container. Nothing in a container without Java.",
		observed: "The helper's `inspect` in each running container.",
	},
	v1alpha1.PhaseStaged: {
		holds:    "The configuration is valid; agent and configuration lie in the container of each process with the right digests. Nothing is staged for a stock exporter that is adopted.",
		effect:   "Three files in the helper's directory.",
		observed: "The helper's `inspect`, which digests the files.",
	},
	v1alpha1.PhaseLoaded: {
		holds:    "Our agent says in each JVM that it serves that configuration on that port; or the stock exporter is in there already, and adopted.",
		effect:   "The intent in the record, then the load; where the agent is in the JVM already, it is told by its file.",
		observed: "The agent's mark in the JVM, read by the helper; never our memory.",
	},
	v1alpha1.PhaseExposed: {
		holds:    "`/metrics` answers on the pod's address for each JVM, and the endpoint stands in an EndpointSlice of ours.",
		effect:   "One HTTP request. The exporter's controller writes the slice; this step waits to see it.",
		observed: "HTTP from the operator, from then on every ten seconds, or, where it cannot reach the pod, from the helper in the pod; API: EndpointSlices.",
	},
	v1alpha1.PhaseAnnotated: {
		holds:    "The pod carries `prometheus.io/scrape`, `prometheus.io/port`, `prometheus.io/path` and `banzaicloud.com/jmx-attachment`, and nobody but us owns them.",
		effect:   "One server-side apply on the pod, never forced.",
		observed: "API: the pod's annotations and who manages them.",
	},
}

var eventTexts = map[statemachine.Event]string{
	statemachine.Discover:       "The pod was matched and has its record.",
	statemachine.FindJava:       "A Java process was found.",
	statemachine.Stage:          "The files lie in the container.",
	statemachine.Load:           "The agent serves.",
	statemachine.Expose:         "The endpoint answers and is published.",
	statemachine.Annotate:       "The annotations are on the pod.",
	statemachine.Replaced:       "A container or JVM is another one than recorded, or others are to be chosen.",
	statemachine.ConfigChanged:  "Another configuration or agent is wanted than staged, or the configuration cannot be used.",
	statemachine.AgentChanged:   "An agent serves another port, configuration or version than wanted, or its endpoint has fallen silent.",
	statemachine.EndpointLost:   "The endpoint is not in an EndpointSlice, or the pod's address or port is another one.",
	statemachine.AnnotationLost: "Our annotations are not on the pod, or somebody else owns one of them.",
}

func statesPage() (string, error) {
	diagram, err := statemachine.Diagram()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# Phases

A JmxAttachment goes through these phases in this order. Each is also the type of a condition of its status, and a phase holds only with all before it: ` + "`status.phase`" + ` is the last one of the unbroken row of conditions that are True, and Pending when there is none. Phase and conditions are written in one apply, so they cannot disagree.

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

| event | from | to | it happens when |
| --- | --- | --- | --- |
`)
	for _, t := range statemachine.Transitions() {
		text, ok := eventTexts[t.Event]
		if !ok {
			return "", fmt.Errorf("hack/docs/states.go says nothing of the event %s", t.Event)
		}
		from := make([]string, len(t.From))
		for i, phase := range t.From {
			from[i] = string(phase)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", t.Event, strings.Join(from, ", "), t.To, text)
	}
	b.WriteString(`
Going backwards withdraws neither the endpoint nor the annotations: what Prometheus scrapes follows the endpoint that answered last, ` + "`endpoint` of each process in the record" + `. Only ` + "`replaced`" + ` takes both back, of JVMs that are gone.

A pod that is gone, no longer matched, or another exporter's by now is no phase either: its annotations are withdrawn, its agents are stopped, and its record is deleted, from whatever phase. Where another exporter takes it on, agents and annotations stay.

A PrometheusJmxExporter has the phase of the least advanced of its pods, refused ones aside: Pending also when it matches none, Refused when all that it matches are refused. Its ` + "`status.metricsEndpoints`" + ` lists the pods whose Exposed is True, so a pod that went backwards is missing there while its EndpointSlice still has it.
`)
	return b.String(), nil
}
