// Package endpoint reads the metrics endpoint of a JVM through a port-forward, with the
// rights of the user.
package endpoint

import (
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Target is the endpoint of a JVM.
type Target struct {
	Namespace string
	Pod       string
	Container string
	PID       int32
	Primary   bool
	Port      int32
	TLS       bool
	// CertificateSHA256 is the digest of the certificate that the agent serves with.
	CertificateSHA256 string
}

// Name is how a person names the JVM.
func (t Target) Name() string { return fmt.Sprintf("%s/%d", t.Container, t.PID) }

// Targets returns the endpoints of a record, the primary one first.
func Targets(record *v1alpha1.JmxAttachment) []Target {
	var all []Target
	for _, p := range record.Status.Processes {
		if p.Endpoint != nil {
			all = append(all, Target{
				Namespace: record.Namespace, Pod: record.Spec.Pod.Name, Container: p.Container, PID: p.PID, Primary: p.Primary,
				Port: p.Endpoint.Port, TLS: p.Endpoint.TLS, CertificateSHA256: p.CertificateSHA256,
			})
		}
	}
	return all
}

// Choose returns the endpoint of a JVM, named by its container, or container/PID; without a
// name, that of the primary JVM.
func Choose(record *v1alpha1.JmxAttachment, name string) (Target, error) {
	var matching []Target
	var all []string
	for _, t := range Targets(record) {
		all = append(all, t.Name())
		container, _, _ := strings.Cut(name, "/")
		if name == "" || name == t.Name() || name == container && container == t.Container {
			matching = append(matching, t)
		}
	}
	pod := record.Spec.Pod.Name
	switch {
	case len(all) == 0:
		return Target{}, fmt.Errorf("pod %s serves no metrics: it is in phase %s (%s); kubectl jmx why -n %s %s says what to do",
			pod, record.Status.Phase, record.Status.Reason, record.Namespace, pod)
	case len(matching) == 0:
		return Target{}, fmt.Errorf("pod %s has no endpoint of a JVM %s; --jvm takes one of %s", pod, name, strings.Join(all, ", "))
	case name != "" && len(matching) > 1:
		return Target{}, fmt.Errorf("container %s of pod %s has several JVMs; --jvm takes one of %s", name, pod, strings.Join(all, ", "))
	}
	return matching[0], nil
}
