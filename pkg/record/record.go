package record

import (
	"cmp"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Record is the record of one pod. Its methods read and change only the status of the
// attachment, so it must be a copy of its own where they change it.
type Record struct{ Attachment *v1alpha1.JmxAttachment }

// Status returns the status of the record.
func (r Record) Status() *v1alpha1.JmxAttachmentStatus { return &r.Attachment.Status }

// Filter returns the processes of the record that match, in order.
func (r Record) Filter(match func(*v1alpha1.JavaProcess) bool) []*v1alpha1.JavaProcess {
	var matching []*v1alpha1.JavaProcess
	for i := range r.Status().Processes {
		if p := &r.Status().Processes[i]; match(p) {
			matching = append(matching, p)
		}
	}
	return matching
}

// Find returns the first process of the record that matches; nil if there is none.
func (r Record) Find(match func(*v1alpha1.JavaProcess) bool) *v1alpha1.JavaProcess {
	for i := range r.Status().Processes {
		if p := &r.Status().Processes[i]; match(p) {
			return p
		}
	}
	return nil
}

// Processes returns all processes of the record.
func (r Record) Processes() []*v1alpha1.JavaProcess {
	return r.Filter(func(*v1alpha1.JavaProcess) bool { return true })
}

// Chosen returns the processes to attach to or adopt, the primary one first.
func (r Record) Chosen() []*v1alpha1.JavaProcess {
	return r.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && !Refused(p) })
}

// Attachable returns the processes that can be attached to, according to the inspection.
func (r Record) Attachable() []*v1alpha1.JavaProcess {
	return r.Filter(func(p *v1alpha1.JavaProcess) bool {
		return !p.Excluded && p.Phase.Reached(v1alpha1.PhaseJavaFound)
	})
}

// Summed returns the processes that determine the pod's phase: the selected ones that
// are not refused or, if all are refused, those.
func (r Record) Summed() []*v1alpha1.JavaProcess {
	if chosen := r.Chosen(); len(chosen) > 0 {
		return chosen
	}
	return r.Attachable()
}

// Known returns the record's entry of a process; nil if there is none.
func (r Record) Known(id ProcessIdentity) *v1alpha1.JavaProcess {
	return r.Find(func(p *v1alpha1.JavaProcess) bool { return Identity(p) == id })
}

// Drop removes processes from the record.
func (r Record) Drop(match func(*v1alpha1.JavaProcess) bool) {
	status := r.Status()
	status.Processes = slices.DeleteFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return match(&p) })
}

// Sort puts the primary process first, then those to attach to, then refused ones, then
// excluded ones, each in the order of the running containers.
func (r Record) Sort(running []pod.Container) {
	at := func(p *v1alpha1.JavaProcess) int {
		return slices.IndexFunc(running, func(c pod.Container) bool { return c.Name == p.Container })
	}
	rank := func(p *v1alpha1.JavaProcess) int {
		switch {
		case p.Excluded:
			return 3
		case Refused(p):
			return 2
		case p.Primary:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(r.Status().Processes, func(a, b v1alpha1.JavaProcess) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(at(&a), at(&b)))
	})
}
