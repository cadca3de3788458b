package steps

import (
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// provenAfter is the time that a container must serve after an attach or a change to prove
// that the revision does not harm it, and that it must run before it is attached to again
// without such a proof. For as long a container must run for the kubelet to forget its
// earlier exits (Kubernetes 1.36.3, pkg/kubelet: backOffPeriod, MaxContainerBackOff).
const provenAfter = 10 * time.Minute

// Halted reports whether the rollout of a revision is halted.
func Halted(exporter *v1alpha1.PrometheusJmxExporter, revision string) bool {
	return exporter.Status.Halt != nil && exporter.Status.Halt.Revision == revision
}

// Paused reports whether the rollout of a revision is paused.
func Paused(exporter *v1alpha1.PrometheusJmxExporter, revision string) bool {
	restarts := exporter.Status.Restarts
	return restarts != nil && restarts.Paused && restarts.Revision == revision
}

// Proven reports whether a container has proven a revision; any container for an empty
// name. A new instance gets back what that one had, even while the rollout is paused or
// halted. The proof does not hold after an exit soon after an attach.
func Proven(status *v1alpha1.JmxAttachmentStatus, container, revision string) bool {
	return revision != "" && slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool {
		exit := status.Restart
		exited := exit != nil && exit.Container == c.Name && exit.Revision == revision
		return (container == "" || c.Name == container) && c.ProvenRevision == revision && !exited
	})
}

// Refuted reports whether the exit in the record refuted a proof: the container had served
// for long with that revision, so the exit is weak evidence against it. The next exit is
// more.
func Refuted(status *v1alpha1.JmxAttachmentStatus) bool {
	exit := status.Restart
	return exit != nil && exit.Count <= 1 && slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool {
		return c.Name == exit.Container && c.ProvenRevision == exit.Revision
	})
}

// proven reports whether a container has proven the revision of its pod.
func (s *Situation) proven(container string) bool {
	return Proven(s.Status(), container, s.Attachment.Spec.Revision)
}

// Keeps reports whether a pod serves the inputs of a revision that it was granted, or has
// proven the revision.
func Keeps(status *v1alpha1.JmxAttachmentStatus, revision string, inputs Inputs, artifacts *Artifacts) bool {
	files := filesOf(inputs, artifacts)
	return Proven(status, "", revision) || slices.ContainsFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return servesFiles(&p, files) })
}

// granted reports whether the rollout has granted the revision to any container of the pod.
func (s *Situation) granted() bool { return s.grantedTo("") }

// grantedTo reports whether the rollout has granted the revision to a container of the pod; to
// any for an empty name.
func (s *Situation) grantedTo(container string) bool {
	return s.Granted && (!s.ProvenOnly || s.proven(container))
}

// provesAfter is the time that a container of the pod must serve to prove a revision. An exit within
// restartWindow is evidence against it, however long that is.
func (s *Situation) provesAfter() time.Duration { return max(provenAfter, restartWindow(s.Exporter)) }

// proves reports whether a process that is gone served what the exporter wants for long
// enough, by the revision that its pod has.
func (s *Situation) proves(p *v1alpha1.JavaProcess) bool {
	port := s.Exporter.Spec.Port
	return s.Begun.Revision == s.Attachment.Spec.Revision && (!p.Primary || port == 0 || port == p.Port) &&
		s.servesWanted(p) && s.next(p) == nil && s.ranAfterAttach(p) >= s.provesAfter()
}

// recoversAfter returns the time until a container that exited soon after an attach has
// recovered; false if it does not serve again.
func (s *Situation) recoversAfter() (time.Duration, bool) {
	restart := s.Status().Restart
	if restart == nil {
		return 0, false
	}
	p := s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Container == restart.Container && s.servesWanted(p) })
	if p == nil {
		return 0, false
	}
	return max(s.provesAfter()-s.Now.Sub(p.Intent.Time.Time), 0), true
}

// servesWanted reports whether a process serves what the exporter wants now, according to
// the record, whether or not that is granted.
func (s *Situation) servesWanted(p *v1alpha1.JavaProcess) bool {
	return s.Problem() == nil && servesFiles(p, s.wanted())
}

// servesFiles reports whether an agent serves from files, according to the record.
func servesFiles(p *v1alpha1.JavaProcess, files v1alpha1.StagedFiles) bool {
	return p.Intent != nil && !p.Adopted && p.Port != 0 && p.ConfigSHA256 == files.ConfigSHA256 &&
		p.ImplementationSHA256 == files.ImplementationSHA256 && p.SecuritySHA256 == files.SecuritySHA256
}

// wanted returns the files that an agent of the pod should run from.
func (s *Situation) wanted() v1alpha1.StagedFiles { return filesOf(s.Inputs, s.Artifacts) }

func filesOf(inputs Inputs, artifacts *Artifacts) v1alpha1.StagedFiles {
	return v1alpha1.StagedFiles{
		AgentSHA256:          artifacts.Agent.SHA256,
		ImplementationSHA256: artifacts.Implementation.SHA256,
		ConfigSHA256:         inputs.Config.SHA256,
		SecuritySHA256:       inputs.Security.SHA256,
		CertificateSHA256:    inputs.Security.CertificateSHA256,
	}
}
