package steps

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxProcesses is the maximum number of processes in a record, as in its schema.
const maxProcesses = 64

// merge updates the record with the processes found in a container. Processes that are
// still the same keep their entries, and processes that were not found are dropped.
// Rules that the rollout has not yet granted to the pod do not change the selection of
// known processes.
func (s *Situation) merge(c pod.Container, found []helperapi.Process) {
	chooses := s.chooses()
	var here []v1alpha1.JavaProcess
	for _, p := range found {
		process := javaProcess(c, p)
		process.FreeMemory = freeMemory(p.Memory, pod.MemoryFor(s.Pod, c.Name))
		if known := s.Known(record.Identity(&process)); known != nil && known.Adopted == adopted(p) {
			if !chooses && p.Excluded != known.Excluded {
				p.Excluded = known.Excluded
				if p.Exporter != nil && p.Exporter.Port == 0 { // the helper asks none that is excluded
					p.Exporter = &helperapi.Exporter{Port: known.Port}
				}
			}
			process = carryOver(*known, process)
		}
		s.assess(&process, p)
		here = append(here, process)
	}
	status := s.Status()
	s.Drop(func(p *v1alpha1.JavaProcess) bool { return p.Container == c.Name })
	status.Processes = append(status.Processes, here...)
	s.Sort(pod.Running(s.Pod))
	status.Processes = status.Processes[:min(len(status.Processes), maxProcesses)]
}

// carryOver returns the known entry of a process, updated with what was found.
func carryOver(known, found v1alpha1.JavaProcess) v1alpha1.JavaProcess {
	known.UID, known.GID, known.VM, known.Vendor = found.UID, found.GID, found.VM, found.Vendor
	known.Version, known.MainClass = found.Version, found.MainClass
	known.LoadWarns, known.FreeMemory = found.LoadWarns, found.FreeMemory
	known.AgentLoading, known.JavaOptions = found.AgentLoading, found.JavaOptions
	known.Excluded = false // as it is found
	return known
}

// assess records what is already loaded in the process, and whether it can be attached
// to.
func (s *Situation) assess(p *v1alpha1.JavaProcess, found helperapi.Process) {
	p.AgentFound = found.Mark != nil && found.Mark.State != helperapi.AgentStopped || found.Mark == nil && found.AgentJarOpen
	switch {
	case found.Excluded:
		p.Excluded, p.Primary = true, false
	case adopted(found):
		p.Adopted, p.Port = true, found.Exporter.Port
	case found.Mark != nil && found.Mark.State == helperapi.AgentRunning:
		p.Port = cmp.Or(found.Mark.Port, p.Port) // what it says, before what is remembered
		// The record was lost: this lets health checks pin the certificate even before
		// the next load.
		if in := s.Security; p.SecuritySHA256 == "" && found.Mark.SecuritySHA256 == in.SHA256 {
			p.SecuritySHA256, p.CertificateSHA256 = in.SHA256, in.CertificateSHA256
		}
	}
	state := record.ProcessState(p)
	outcome := attachability(found)
	if outcome.Kind == statemachine.Done && s.keepsAll() && p.AgentFound && p.Port == 0 {
		outcome = record.NotDone(v1alpha1.ReasonAgentNotAnswering, "The agent is in the JVM, but does not report what it serves; retrying.")
	}
	if refused := s.refusesWarning(p); refused != nil && outcome.Kind == statemachine.Done {
		outcome = *refused
	}
	switch {
	case outcome.Kind != statemachine.Done:
		state.Phase = Discovered
		state.Record(JavaFound, s.Key(), outcome, s.Now.Time)
	case !Plan.Reached(state.Phase, JavaFound):
		state.Record(JavaFound, s.Key(), outcome, s.Now.Time)
		state.Phase = JavaFound
	}
	record.SetProcessState(p, state)
}

// attachability returns Done if nothing prevents attaching to a process. An excluded
// process is never an obstacle.
func attachability(p helperapi.Process) statemachine.Outcome {
	switch {
	case p.Excluded:
		return record.Done()
	case adopted(p) && p.Exporter.Port == 0:
		return record.NotDone(v1alpha1.ReasonStockExporterNotServing,
			"The stock exporter is already in the JVM, but its port was not found: it does not answer, or several ports answer like it; see the application's output. The operator's agent is not loaded next to it.")
	case adopted(p) || p.Refusal == nil:
		return record.Done()
	case p.AgentJarOpen && p.Refusal.Reason == helperapi.ReasonInsufficientThreads: // which an agent that serves does not need
		return record.Done()
	}
	return record.NotDone(string(p.Refusal.Reason), p.Refusal.Message)
}

// adopted reports whether the stock exporter is in the process, and no agent of the
// operator.
func adopted(p helperapi.Process) bool {
	return p.Exporter != nil && p.Mark == nil && !p.AgentJarOpen
}

// memoryStep is the unit to which free memory is rounded down in a record: it changes
// constantly, and each change would be a write.
const memoryStep = 8 << 20

// freeMemory returns the memory that an inspection found free below the limit; nil
// without a limit.
func freeMemory(found *helperapi.Memory, shared *helperapi.PodMemory) *resource.Quantity {
	if found == nil {
		return nil
	}
	return resource.NewQuantity(max(shared.Available(*found).Free, 0)/memoryStep*memoryStep, resource.BinarySI)
}

func javaProcess(c pod.Container, p helperapi.Process) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{
		Container: c.Name, ContainerID: c.ID,
		PID: int32(p.PID), StartTime: int64(p.StartTime), UID: int64(p.UID), GID: int64(p.GID),
		VM: text.Cut(p.Implementation, 64), Vendor: text.Cut(p.Vendor, 128),
		Version: text.Cut(p.Version, 64), MainClass: text.Cut(p.MainClass, 512),
		Phase: v1alpha1.PhaseDiscovered, LoadWarns: p.LoadWarns,
		AgentLoading: record.AgentLoadingOf(p), JavaOptions: record.JavaOptionsOf(p),
	}
}

// recordContainer records the outcome of inspecting a container.
func (s *Situation) recordContainer(entry *v1alpha1.InspectedContainer, o statemachine.Outcome) {
	state := record.ContainerState(entry)
	state.Record(JavaFound, s.Key(), o, s.Now.Time)
	record.SetContainerState(entry, state)
	if o.Kind == statemachine.Done {
		entry.UnseenPorts = nil
		entry.Time, entry.Ready = new(s.Now), !pod.ReadySince(s.Pod).IsZero()
	}
}

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
	if !j.grantedTo(p.Container) || j.Exporter.Spec.Port == 0 || p.Adopted || p.Intent != nil ||
		slices.ContainsFunc(j.Chosen(), func(p *v1alpha1.JavaProcess) bool { return p.Primary }) {
		return false
	}
	return slices.ContainsFunc(j.containers(), j.inspectedSoon)
}
