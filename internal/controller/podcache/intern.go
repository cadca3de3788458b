package podcache

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// table has the strings that recur in many objects. Package unique forgets a string with its last
// Handle, which would take the room of the string in each object; this table forgets all once it
// is full, which costs some of the sharing.
var table = struct {
	sync.Mutex
	known map[string]string
}{known: map[string]string{}}

const (
	maxKnown  = 10_000
	maxLength = 256 // of a string in the table, which so takes 3 MB at most
)

// intern replaces strings that recur in many objects: each was decoded into memory of its own.
func intern[S ~string](values ...*S) {
	table.Lock()
	defer table.Unlock()
	for _, value := range values {
		text := string(*value)
		if known, ok := table.known[text]; ok {
			*value = S(known)
			continue
		}
		if len(text) > maxLength {
			continue
		}
		if len(table.known) >= maxKnown {
			clear(table.known)
		}
		text = strings.Clone(text) // without what it was decoded from
		table.known[text], *value = text, S(text)
	}
}

// fit returns a slice without the room that its decoder left.
func fit[T any](s []T) []T { return slices.Clip(append([]T(nil), s...)) }

// internRecord interns what the records of an exporter have in common, and the JVMs, messages
// and digests that recur in many of them.
func internRecord(record *v1alpha1.JmxAttachment) {
	status := &record.Status
	record.OwnerReferences, status.Conditions = fit(record.OwnerReferences), fit(status.Conditions)
	status.Containers, status.Processes = fit(status.Containers), fit(status.Processes)
	intern(&record.Kind, &record.APIVersion, &record.Namespace, &record.Spec.Exporter.Name, &record.Spec.Revision,
		&status.Reason, &status.NodeName, &status.Revision, &status.Resume)
	intern(&record.Spec.Exporter.UID)
	intern(&status.Phase)
	intern(&status.AgentLoading)
	for i := range record.OwnerReferences {
		intern(&record.OwnerReferences[i].Kind, &record.OwnerReferences[i].APIVersion)
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		intern(&c.Type, &c.Reason, &c.Message)
		intern(&c.Status)
	}
	for i := range status.Containers {
		intern(&status.Containers[i].Name, &status.Containers[i].Reason, &status.Containers[i].Rules)
	}
	for i := range status.Processes {
		internProcess(&status.Processes[i])
	}
}

func internProcess(p *v1alpha1.JavaProcess) {
	intern(&p.Container, &p.VM, &p.Vendor, &p.Version, &p.MainClass, &p.Reason, &p.Message, &p.AgentVersion,
		&p.ConfigSHA256, &p.SecuritySHA256, &p.CertificateSHA256, &p.ImplementationSHA256)
	intern(&p.Phase)
	intern(&p.AgentLoading)
	intern(&p.JavaOptions)
	if s := p.Staged; s != nil {
		intern(&s.AgentSHA256, &s.ImplementationSHA256, &s.ConfigSHA256, &s.SecuritySHA256, &s.CertificateSHA256)
	}
	if l := p.Intent; l != nil {
		intern(&l.ConfigSHA256, &l.SecuritySHA256, &l.ImplementationSHA256)
	}
	if e := p.Endpoint; e != nil {
		intern(&e.CheckedFrom)
	}
}

// internPod interns what recurs beyond the pods of one controller.
func internPod(pod *corev1.Pod) {
	intern(&pod.Kind, &pod.APIVersion, &pod.Spec.NodeName)
	intern(&pod.Spec.RestartPolicy)
	intern(&pod.Status.Phase)
	for i := range pod.Status.Conditions {
		intern(&pod.Status.Conditions[i].Type)
		intern(&pod.Status.Conditions[i].Status)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			intern(&containers[i].Image)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			s := &statuses[i]
			intern(&s.Name)
			for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
				if state.Terminated != nil {
					intern(&state.Terminated.Reason)
				}
			}
		}
	}
}
