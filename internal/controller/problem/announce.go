package problem

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Announce records an Event for each container with a new or different problem. A
// continuing problem is not announced again with each restart.
func Announce(recorder events.EventRecorder, exporter *v1alpha1.PrometheusJmxExporter, before, after []v1alpha1.ProblemPod) {
	reasons := map[key]string{}
	for _, entry := range before {
		reasons[keyOf(&entry)] = entry.Reason
	}
	for _, entry := range after {
		if reasons[keyOf(&entry)] == entry.Reason {
			continue
		}
		pod := &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: exporter.Namespace, Name: entry.Pod, UID: entry.UID},
		}
		recorder.Eventf(exporter, pod, corev1.EventTypeWarning, eventReason(entry.Reason), "CheckPods", "%s", note(entry))
	}
}

func note(entry v1alpha1.ProblemPod) string {
	var b strings.Builder
	b.WriteString("Pod " + entry.Pod)
	if entry.Container != "" {
		b.WriteString(", container " + entry.Container)
	}
	b.WriteString(": " + entry.Reason)
	if entry.Message != "" {
		b.WriteString(": " + entry.Message)
	}
	return b.String()
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
