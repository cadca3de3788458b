package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/fleet"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Print writes the description; now is the present time.
func (d *Description) Print(w io.Writer, now time.Time) {
	verdict := d.summary(w)
	if verdict.Next == "" && d.Record != nil && len(d.Record.Notices) > 0 {
		verdict = d.Record.Notices[0]
	}
	d.conditions(w, now)
	d.jvms(w)
	d.attempts(w, now)
	d.events(w, now)
	fmt.Fprintln(w)
	if verdict.Next == "" {
		fmt.Fprintln(w, "Next: nothing to do.")
		return
	}
	fmt.Fprintln(w, "Next: "+terminal.Line(verdict.Next))
	if verdict.Docs != "" {
		fmt.Fprintln(w, "Docs: "+verdict.Docs)
	}
}

// summary writes where the pod is, and returns what keeps it there.
func (d *Description) summary(w io.Writer) advice.Verdict {
	rows := [][]string{{"Pod:", d.Namespace + "/" + d.Pod}}
	var verdict advice.Verdict
	if d.Record == nil {
		verdict = *d.Unrecorded
		rows = append(rows, []string{"Record:", "none"})
	} else {
		verdict = d.Record.Verdict
		rows = append(rows, []string{"Exporter:", cmp.Or(d.Exporter, "none (deleted)")},
			[]string{"Record:", "jmxattachment/" + d.Record.Attachment},
			[]string{"Node:", cmp.Or(d.Record.Node, "unknown")},
			[]string{"Phase:", string(cmp.Or(d.Record.Phase, v1alpha1.PhasePending))})
	}
	if verdict.Reason != "" {
		rows = append(rows, []string{"Reason:", verdict.Reason}, []string{"Message:", verdict.Message})
	}
	output.Table(w, rows...)
	return verdict
}

func (d *Description) conditions(w io.Writer, now time.Time) {
	if len(d.Conditions) == 0 {
		return
	}
	rows := [][]string{{"CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"}}
	shown := map[string]bool{}
	for _, c := range d.Conditions {
		message := c.Message
		if shown[message] { // Ready repeats the message of the phase that does not hold
			message = ""
		}
		shown[c.Message] = true
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, ago(now, c.LastTransitionTime.Time), message})
	}
	fmt.Fprintln(w)
	output.Table(w, rows...)
}

func (d *Description) jvms(w io.Writer) {
	if d.Record != nil && len(d.Record.JVMs) > 0 {
		rows := [][]string{{"JVM", "PHASE", "PORT", "VERSION", "MAIN CLASS", "REASON", "MESSAGE"}}
		for _, j := range d.Record.JVMs {
			rows = append(rows, []string{fmt.Sprintf("%s/%d", j.Container, j.PID), string(j.Phase), portOf(j), j.Version, j.MainClass, reasonOf(j), j.Message})
		}
		fmt.Fprintln(w)
		output.Table(w, rows...)
	}
	if len(d.Skipped) > 0 {
		rows := [][]string{{"CONTAINER NOT INSPECTED", "REASON", "MESSAGE"}}
		for _, c := range d.Skipped {
			rows = append(rows, []string{c.Container, c.Reason, c.Message})
		}
		fmt.Fprintln(w)
		output.Table(w, rows...)
	}
}

func portOf(j fleet.JVM) string {
	if j.Port == 0 {
		return ""
	}
	return fmt.Sprint(j.Port)
}

func reasonOf(j fleet.JVM) string {
	if j.Excluded {
		return "excluded"
	}
	return j.Reason
}

func (d *Description) attempts(w io.Writer, now time.Time) {
	if d.Restart != "" {
		fmt.Fprintln(w, "\nRestarted: "+terminal.Line(d.Restart))
	}
	if len(d.Attempts) == 0 {
		return
	}
	rows := [][]string{{"ATTEMPTS AT", "FAILED", "NEXT", "LAST ERROR"}}
	for _, a := range d.Attempts {
		next := "with the next event"
		if a.NextTime != nil {
			next = "in " + duration.HumanDuration(max(0, a.NextTime.Sub(now)))
		}
		rows = append(rows, []string{string(a.Phase), fmt.Sprint(a.Count), next, a.LastError})
	}
	fmt.Fprintln(w)
	output.Table(w, rows...)
}

func (d *Description) events(w io.Writer, now time.Time) {
	if d.EventsOmitted != "" {
		fmt.Fprintln(w, "\nEvents: "+terminal.Line(d.EventsOmitted))
		return
	}
	if len(d.Events) == 0 {
		fmt.Fprintln(w, "\nEvents: none (the API server keeps them for an hour by default)")
		return
	}
	rows := [][]string{{"EVENT", "AGE", "TYPE", "ON", "MESSAGE"}}
	for _, e := range d.Events {
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		rows = append(rows, []string{e.Reason, ago(now, e.Time.Time), e.Type, strings.ToLower(e.On), e.Message + times})
	}
	fmt.Fprintln(w)
	output.Table(w, rows...)
}

func ago(now, then time.Time) string {
	if then.IsZero() {
		return "unknown"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}
