package steps

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Inputs are the resources that an exporter refers to, as needed by its pods.
type Inputs struct {
	// Config is the exporter's configuration.
	Config Input
	// Security has the security settings of its endpoints; zero for none.
	Security Security
	// ProcessRules is why the exporter's own rules cannot be used; nil if they can.
	ProcessRules *Problem
}

// Problem returns why nothing new can be attached; nil if all inputs are valid.
func (i Inputs) Problem() *Problem {
	return cmp.Or(i.Config.Problem, i.Security.Problem, i.ProcessRules)
}

// Input is a resource that an exporter refers to: a file, or the reason why there is
// none.
type Input struct {
	transport.Blob
	// Problem is why the input cannot be used; nil if it can.
	Problem *Problem
	// Warning is what the exporter ignores in the input; nil if nothing.
	Warning *Problem
}

// Security has the security settings of an exporter's endpoints.
type Security struct {
	Input
	// CertificateSHA256 is the digest of its certificate, in DER.
	CertificateSHA256 string
	// CertificateNotAfter is the end of its validity.
	CertificateNotAfter time.Time
}

// Problem is a reason with an actionable message.
type Problem struct{ Reason, Message string }

// Revision returns a digest of the desired state of the exporter's pods: everything that
// reaches a pod, and the exporter's UID, so that a grant of a deleted exporter does not
// count in the rollout of its successor of the same name.
func Revision(exporter *v1alpha1.PrometheusJmxExporter, inputs Inputs, artifacts *Artifacts) string {
	return digest(
		exporter.UID, exporter.Spec.Port, exporter.Spec.Containers, exporter.Spec.Processes, exporter.Spec.AllowSharedTmp,
		inputs.Config.SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
		exporter.Spec.EndpointSecurity != nil, inputs.Security.SHA256,
	)
}

// HowToResume returns how to resume a rollout that was halted for the reason, for the
// end of a message.
func HowToResume(reason string) string {
	mend := "configuration"
	if reason == v1alpha1.ReasonSecurityRejected {
		mend = "Secret"
	}
	return fmt.Sprintf("To resume, change the %s, or set the exporter's annotation %s to a new value.", mend, v1alpha1.AnnotationResume)
}

// Resume returns a digest of the value of the annotation AnnotationResume; empty for
// none.
func Resume(exporter *v1alpha1.PrometheusJmxExporter) string {
	value := exporter.Annotations[v1alpha1.AnnotationResume]
	if value == "" {
		return ""
	}
	return digest(value)
}

// rules returns a digest of the fields that select processes.
func rules(exporter *v1alpha1.PrometheusJmxExporter) string {
	if len(exporter.Spec.Containers) == 0 && len(exporter.Spec.Processes) == 0 && !exporter.Spec.AllowSharedTmp {
		return ""
	}
	return digest(exporter.Spec.Containers, exporter.Spec.Processes, exporter.Spec.AllowSharedTmp)
}

func digest(values ...any) string {
	data, err := json.Marshal(values)
	if err != nil { // strings, numbers and structs of them always marshal
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Artifacts are the files that the operator copies into containers.
type Artifacts = transport.Artifacts
