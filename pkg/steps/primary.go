package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// maxPrimaryTries is how often the inspection of a container may fail before a later
// container may have the primary process.
const maxPrimaryTries = 3

// choosePrimary selects the pod's primary process, unless there is one. It must never
// have been attached to, so that a JVM that serves another port keeps it when the
// primary one exits. Among several, it is the one that already serves the exporter's
// port, or the first that serves none and may be about to start. A container that could
// not be inspected yet may have an earlier one, which is waited for.
func (s *Situation) choosePrimary() {
	if slices.ContainsFunc(s.Chosen(), func(p *v1alpha1.JavaProcess) bool { return p.Primary }) {
		return
	}
	var primary *v1alpha1.JavaProcess
	best := 0
	for _, p := range s.beforeFailure() {
		if p.Adopted || p.Intent != nil {
			continue
		}
		rank := 2
		switch {
		case p.Port != 0 && p.Port == s.Exporter.Spec.Port:
			rank = 3
		case p.Port != 0:
			rank = 1
		}
		if rank > best {
			primary, best = p, rank
		}
	}
	for i := range s.Status().Processes {
		p := &s.Status().Processes[i]
		p.Primary = p == primary
	}
	s.Sort(pod.Running(s.Pod))
}

// beforeFailure returns the selected processes of the containers before the first one
// that may soon be inspected.
func (s *Situation) beforeFailure() []*v1alpha1.JavaProcess {
	var before []*v1alpha1.JavaProcess
	for _, c := range s.containers() {
		if s.inspectedSoon(c) {
			break
		}
		before = append(before, s.Filter(func(p *v1alpha1.JavaProcess) bool {
			return p.Container == c.Name && !p.Excluded && !record.Refused(p)
		})...)
	}
	return before
}

// inspectedSoon reports whether a container has not been inspected yet, but may be soon.
func (s *Situation) inspectedSoon(c pod.Container) bool {
	entry := s.Current(c)
	switch {
	case entry == nil:
		return true
	case entry.Reason == "" || v1alpha1.NeedsPerson(entry.Reason):
		return false
	}
	return entry.Attempt == nil || entry.Attempt.Count <= maxPrimaryTries
}

// awaitsPrimary reports whether it is still open which JVM serves the exporter's port,
// because an earlier container is about to be inspected. A JVM that was attached to
// meanwhile would keep another port.
func (j *JVM) awaitsPrimary() bool {
	p := j.Process
	if !j.Granted || j.Exporter.Spec.Port == 0 || p.Adopted || p.Intent != nil ||
		slices.ContainsFunc(j.Chosen(), func(p *v1alpha1.JavaProcess) bool { return p.Primary }) {
		return false
	}
	return slices.ContainsFunc(j.containers(), j.inspectedSoon)
}
