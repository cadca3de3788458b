package judge

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Judgement is what the agent in one JVM says of a configuration.
type Judgement struct {
	Container string `json:"container"`
	PID       int32  `json:"pid"`
	// Judged reports whether the JVM judged the configuration, and Accepted what it found.
	Judged   bool `json:"judged"`
	Accepted bool `json:"accepted"`
	// Reason and Message say why the JVM does not accept the configuration, or why it did
	// not judge.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Docs    string `json:"docs,omitempty"`
	// What the collection of the trial took and made; absent if it is not known.
	DurationSeconds *float64 `json:"durationSeconds,omitempty"`
	CPUSeconds      *float64 `json:"cpuSeconds,omitempty"`
	AllocatedBytes  *int64   `json:"allocatedBytes,omitempty"`
	Series          *int64   `json:"series,omitempty"`
	MBeans          *int64   `json:"mbeans,omitempty"`
	// Skipped is what the collection left out.
	Skipped *helperapi.Skipped `json:"skipped,omitempty"`
}

// JVM is how a person names the JVM.
func (j Judgement) JVM() string { return fmt.Sprintf("%s/%d", j.Container, j.PID) }

// take copies what an agent says.
func (j *Judgement) take(said *helperapi.Judgement) {
	j.Accepted, j.Reason, j.Message = said.Reason == "", string(said.Reason), said.Message
	j.Judged = said.Reason != helperapi.JudgementTrialIncomplete && j.Reason != v1alpha1.ReasonAgentFailed
	if said.Reason != helperapi.JudgementTrialIncomplete {
		j.Docs = advice.Link(j.Reason)
	}
	j.DurationSeconds, j.CPUSeconds = seconds(said.Millis), seconds(said.CPUMillis)
	j.AllocatedBytes, j.Series, j.MBeans, j.Skipped = said.Bytes, said.Series, said.MBeans, said.Skipped
}

// fail says why a JVM did not judge, and what the user can do about it.
func (j *Judgement) fail(err error, record *v1alpha1.JmxAttachment) {
	j.Message = err.Error()
	known, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return
	}
	j.Reason = known.Reason
	pod, namespace := record.Spec.Pod.Name, record.Namespace
	switch known.Reason {
	case v1alpha1.ReasonExecForbidden:
		j.Message = fmt.Sprintf("You may not exec into pods of namespace %s: it needs get and create on pods/exec.", namespace)
	case v1alpha1.ReasonBadRequest:
		j.Message = "The helper in the container is older than this kubectl jmx, and cannot check: upgrade the operator, or use the kubectl jmx of its version. (" + known.Message + ")"
	case v1alpha1.ReasonDoorPending:
		j.Message = known.Message + fmt.Sprintf(" It ends after ten minutes without work (--door-idle of the operator); the operator adds another one to inspect the pod: kubectl jmx retry -n %s %s.", namespace, pod)
	case v1alpha1.ReasonHelperFailed:
		j.Message = known.Message + fmt.Sprintf(" The operator installs its helper when it inspects the pod: kubectl jmx retry -n %s %s.", namespace, pod)
	case v1alpha1.ReasonQueued, v1alpha1.ReasonReplaced, v1alpha1.ReasonProcessGone, string(helperapi.ReasonBusy), string(helperapi.ReasonStagingIncomplete):
		j.Message = known.Message + " Try again."
	default:
		if v1alpha1.Known(known.Reason) {
			j.Docs = advice.Link(known.Reason)
		}
	}
}

func seconds(millis *int64) *float64 {
	if millis == nil {
		return nil
	}
	return new(float64(*millis) / 1000)
}

// Print writes the judgements for a person.
func Print(w io.Writer, all []Judgement) {
	rows := [][]string{{"JVM", "ACCEPTED", "SERIES", "MBEANS", "DURATION", "CPU", "ALLOCATED", "REASON"}}
	for _, j := range all {
		accepted := "not judged"
		switch {
		case j.Accepted:
			accepted = "yes"
		case j.Judged:
			accepted = "no"
		}
		rows = append(rows, []string{
			j.JVM(), accepted, count(j.Series), count(j.MBeans), duration(j.DurationSeconds), duration(j.CPUSeconds), bytes(j.AllocatedBytes), j.Reason,
		})
	}
	output.Table(w, rows...)
	for _, j := range all {
		if j.Message != "" {
			fmt.Fprintf(w, "\n%s: %s\n", terminal.Line(j.JVM()), terminal.Line(j.Message))
		}
		if j.Docs != "" {
			fmt.Fprintln(w, j.Docs)
		}
		if s := j.Skipped; s != nil {
			fmt.Fprintln(w, terminal.Line(fmt.Sprintf("%s: %d MBeans, attributes or samples would be left out, most of them of %s (%s)", j.JVM(), s.Count, s.Domain, s.Reason)))
		}
	}
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func duration(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return fmt.Sprintf("%.0fms", *seconds*1000)
}

func bytes(n *int64) string {
	if n == nil {
		return ""
	}
	return resource.NewQuantity(*n>>10<<10, resource.BinarySI).String()
}
