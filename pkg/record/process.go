// Package record is arithmetic on the record of a pod, a JmxAttachment: which processes
// it has, which of them count, what they add up to, and how that reads. It reads no
// clock, no cluster and no container.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// ProcessIdentity identifies one process of a pod, but not a later one with the same
// PID.
type ProcessIdentity struct {
	ContainerID string
	PID         int32
	StartTime   int64
}

// Identity returns the identity of a process in the record.
func Identity(p *v1alpha1.JavaProcess) ProcessIdentity {
	return ProcessIdentity{p.ContainerID, p.PID, p.StartTime}
}

// Fingerprint returns the identity of a process as its agent reports it: of fixed
// length, and without names.
func Fingerprint(p *v1alpha1.JavaProcess) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", p.ContainerID, p.PID, p.StartTime))
	return hex.EncodeToString(sum[:8])
}

// Runs reports whether the container in which the process was found is still running.
func Runs(in *corev1.Pod, p *v1alpha1.JavaProcess) bool {
	return slices.Contains(pod.Running(in), pod.Container{Name: p.Container, ID: p.ContainerID})
}

// MayHaveAgent reports whether the operator's agent is in the process or may be: it was
// found there, or its load was begun.
func MayHaveAgent(p *v1alpha1.JavaProcess) bool {
	return (p.AgentFound || p.Intent != nil) && !p.Adopted
}

// Serves reports whether the process serves metrics or has an agent: it was attached to
// before, and is kept.
func Serves(p *v1alpha1.JavaProcess) bool { return MayHaveAgent(p) || p.Endpoint != nil }

// Secured reports whether the agent in the process serves over TLS.
func Secured(p *v1alpha1.JavaProcess) bool { return p.SecuritySHA256 != "" }

// Refused reports whether the process needs a person, so that its pod proceeds without
// it. A reason that halts the rollout is never passed over.
func Refused(p *v1alpha1.JavaProcess) bool {
	return v1alpha1.NeedsPerson(p.Reason) && !v1alpha1.Halts(p.Reason)
}
