package problem

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Announce records an Event for each container with a new or different problem, and one with
// the end of its log when that is first known. A continuing problem is not announced again
// with each restart.
func Announce(recorder events.EventRecorder, exporter *v1alpha1.PrometheusJmxExporter, before, after []v1alpha1.ProblemPod) {
	known := map[key]v1alpha1.ProblemPod{}
	for _, entry := range before {
		known[keyOf(&entry)] = entry
	}
	for _, entry := range after {
		pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: exporter.Namespace, Name: entry.Pod, UID: entry.UID}
		if entry.Container != "" { // without it, Events of several containers with one reason are a series, of which only the first note is kept
			pod.FieldPath = "spec.containers{" + entry.Container + "}"
		}
		say := func(action, note string) {
			recorder.Eventf(exporter, pod, corev1.EventTypeWarning, eventReason(entry.Reason), action, "%s", note)
		}
		was := known[keyOf(&entry)]
		if was.Reason != entry.Reason {
			say("CheckPods", note(entry))
		}
		if log := logOf(entry); log != "" && logOf(was) == "" {
			say("ReadLog", logNote(entry, log))
		}
	}
}

func note(entry v1alpha1.ProblemPod) string {
	note := subject(entry) + ": " + entry.Reason
	if entry.Message != "" {
		note += ": " + entry.Message
	}
	return note
}

func subject(entry v1alpha1.ProblemPod) string {
	if entry.Container == "" {
		return "Pod " + entry.Pod
	}
	return "Pod " + entry.Pod + ", container " + entry.Container
}

// logOf returns the log of the instance that failed: once another one runs, that is the
// previous one's.
func logOf(entry v1alpha1.ProblemPod) string { return cmp.Or(entry.PreviousLog, entry.Log) }

// logNote returns a note with the last lines of a log that fit into an Event, or the end of the
// last one.
func logNote(entry v1alpha1.ProblemPod, log string) string {
	begin := subject(entry) + ", the end of its log:\n"
	if more := len(log) + len(begin) - text.NoteLimit; more > 0 {
		log = strings.ToValidUTF8(log[more:], "")
		if _, lines, cut := strings.Cut(log, "\n"); cut {
			log = lines
		}
	}
	return begin + log
}

// eventReason returns the reason as one word, by which tools group Events.
func eventReason(reason string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, reason)
	if word == "" {
		return "ProblemPod"
	}
	return word
}
