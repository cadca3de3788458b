package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// JVM is one process of a Situation: the subject of the steps that each JVM goes through
// independently.
type JVM struct {
	*Situation
	Process *v1alpha1.JavaProcess
}

// State returns the state of the process from the record.
func (j *JVM) State() statemachine.State { return record.ProcessState(j.Process) }

// SetState writes the state of the process into the record.
func (j *JVM) SetState(s statemachine.State) { record.SetProcessState(j.Process, s) }

// files returns the files that the process's agent should run from: those that the
// exporter specifies now, or those already staged if the rollout has not granted new
// ones to the pod, or if the exporter's inputs are invalid.
func (j *JVM) files() v1alpha1.StagedFiles {
	if j.keepsStaged() {
		return *j.Process.Staged
	}
	return j.wanted()
}

// keepsStaged reports whether the staged files stay in use, whatever the exporter
// specifies.
func (j *JVM) keepsStaged() bool {
	return j.Process.Staged != nil && (!j.grantedTo(j.Process.Container) || j.Problem() != nil)
}

// port returns the port to request: the exporter's for the primary process, and 0 for
// one that is chosen in the pod.
func (j *JVM) port() int32 {
	switch {
	case !j.grantedTo(j.Process.Container) && j.Process.Intent != nil:
		return j.Process.Intent.Port
	case j.Process.Primary:
		return j.Exporter.Spec.Port
	default:
		return 0
	}
}

// avoid returns the ports that must not be chosen for the process: those of the pod's
// other processes, and those that the pod declares, which the application may be about
// to open.
func (j *JVM) avoid() []int32 {
	var ports []int32
	for _, p := range j.Chosen() {
		if p == j.Process {
			continue
		}
		other := &JVM{j.Situation, p}
		for _, port := range []int32{p.Port, other.port()} {
			if port != 0 && (port == p.Port || !p.Adopted) {
				ports = append(ports, port)
			}
		}
	}
	for _, c := range slices.Concat(j.Pod.Spec.Containers, j.Pod.Spec.InitContainers) {
		for _, port := range c.Ports {
			ports = append(ports, port.ContainerPort)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// serves reports whether the agent serves the desired configuration and port, according
// to the record.
func (j *JVM) serves() bool {
	p, files, port := j.Process, j.files(), j.port()
	return p.Port != 0 && loadAnswered(p) && (port == 0 || p.Port == port) &&
		p.ConfigSHA256 == files.ConfigSHA256 && p.ImplementationSHA256 == files.ImplementationSHA256 &&
		p.SecuritySHA256 == files.SecuritySHA256 && p.CertificateSHA256 == files.CertificateSHA256
}

// loadAnswered reports whether the record has the outcome of the last load. The outcome of one
// that was recorded but not answered is unknown: the agent may serve what it was asked for then,
// not what is recorded.
func loadAnswered(p *v1alpha1.JavaProcess) bool {
	i := p.Intent
	return i == nil || (i.Port == 0 || i.Port == p.Port) &&
		i.ConfigSHA256 == p.ConfigSHA256 && i.SecuritySHA256 == p.SecuritySHA256 && i.ImplementationSHA256 == p.ImplementationSHA256
}

// upToDate reports whether a phase requires no change of the JVM or of the files in its
// container, according to the record.
func (j *JVM) upToDate(phase statemachine.Phase) bool {
	switch p := j.Process; phase {
	case Staged:
		return p.Staged != nil && *p.Staged == j.files()
	case Loaded:
		return p.Adopted || j.serves()
	default:
		return true
	}
}

// answered reports whether the endpoint answered at the pod's current address.
func (j *JVM) answered() bool {
	e := j.Process.Endpoint
	return e != nil && !e.Silent && e.Address == j.Pod.Status.PodIP && e.Port == j.Process.Port && e.TLS == record.Secured(j.Process)
}

// published reports whether an EndpointSlice has the endpoint.
func (j *JVM) published() bool {
	e := j.Process.Endpoint
	return e != nil && slices.Contains(j.Published, PublishedEndpoint{Address: e.Address, Port: e.Port, TLS: e.TLS})
}

// at returns the container of the process as the helper's target.
func (j *JVM) at() transport.Container { return j.Situation.at(j.Process.Container) }
