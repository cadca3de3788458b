package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// sighting is what was found in a pod's containers.
type sighting struct {
	// found are the Java processes, in the order of the containers.
	found []sighted
	// obstacles are what stood in the way, in the order of the containers.
	obstacles []obstacle
	// withoutJava counts the containers that could be inspected and run no
	// Java process, or not yet.
	withoutJava int
}

// sighted is a process for the record, and what is in it already.
type sighted struct {
	v1alpha1.JavaProcess
	// serves is the port that an agent of ours serves in it; 0 for none.
	serves int32
}

func (v *sighting) add(c container, p attach.Process, refusal *Outcome) {
	found := sighted{JavaProcess: javaProcess(c, p)}
	if p.Mark != nil && p.Mark.State == attach.AgentRunning {
		found.serves = p.Mark.Port
	}
	found.AgentFound = p.Mark != nil && p.Mark.State != attach.AgentStopped || p.Mark == nil && p.AgentJarOpen
	switch {
	case p.Excluded:
		found.Refusal = v1alpha1.RefusalExcluded
	case refusal != nil:
		found.Refusal = text.Cut(refusal.Reason, 64)
	case adopted(p):
		found.Adopted, found.Port = true, p.Exporter.Port
	}
	v.found = append(v.found, found)
}

// processes are the processes for the record: the first one first, then the
// others to be attached to, then those that are not. What the record knows of a
// process that is still the same stays, also of those that could not be looked at.
func (v *sighting) processes(s *Scope) []v1alpha1.JavaProcess {
	var processes []v1alpha1.JavaProcess
	for _, found := range v.found {
		p := found.JavaProcess
		if known := s.known(Identity(&p)); known != nil && p.Refusal != v1alpha1.RefusalExcluded && known.Adopted == p.Adopted {
			p.Staged, p.Intent, p.Endpoint, p.First = known.Staged, known.Intent, known.Endpoint, known.First
			p.ConfigSHA256, p.ImplementationSHA256, p.AgentVersion = known.ConfigSHA256, known.ImplementationSHA256, known.AgentVersion
			p.Port = cmp.Or(p.Port, known.Port)
		}
		if !p.Adopted && p.Refusal != v1alpha1.RefusalExcluded { // what it says, before what is remembered
			p.Port = cmp.Or(found.serves, p.Port)
		}
		processes = append(processes, p)
	}
	for _, known := range s.Status().Processes {
		if v.stoodInTheWay(known.Container) && !slices.ContainsFunc(processes, func(p v1alpha1.JavaProcess) bool { return Identity(&p) == Identity(&known) }) {
			processes = append(processes, known)
		}
	}
	v.first(s, processes)
	rank := func(p v1alpha1.JavaProcess) int {
		switch {
		case p.Refusal == v1alpha1.RefusalExcluded:
			return 3
		case p.Refusal != "":
			return 2
		case p.First:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(processes, func(a, b v1alpha1.JavaProcess) int { return cmp.Compare(rank(a), rank(b)) })
	return processes[:min(len(processes), maxProcesses)]
}

// first says which process is the pod's first, if none is: one that was never
// attached to, so that a JVM that serves another port keeps it when the first one
// ends. Among several, it is the one that serves the exporter's port already, or
// the first that serves none.
func (v *sighting) first(s *Scope, processes []v1alpha1.JavaProcess) {
	var first *v1alpha1.JavaProcess
	best := 0
	for i := range processes {
		p := &processes[i]
		if p.First && p.Refusal == "" {
			return
		}
		if known := s.known(Identity(p)); p.Refusal != "" || p.Adopted || known != nil && known.Intent != nil {
			continue
		}
		rank := 2
		switch serves := v.serves(Identity(p)); {
		case serves != 0 && serves == s.Exporter.Spec.Port:
			rank = 3
		case serves != 0:
			rank = 1
		}
		if rank > best {
			first, best = p, rank
		}
	}
	for i := range processes {
		processes[i].First = &processes[i] == first
	}
}

func (v *sighting) serves(id ProcessIdentity) int32 {
	for _, found := range v.found {
		if Identity(&found.JavaProcess) == id {
			return found.serves
		}
	}
	return 0
}

// mayPass tells whether something stood in the way that may not another time.
func (v *sighting) mayPass() bool {
	return slices.ContainsFunc(v.obstacles, func(o obstacle) bool { return o.outcome.Kind != Stop })
}

// stoodInTheWay tells whether a container could not be looked into.
func (v *sighting) stoodInTheWay(container string) bool {
	return slices.ContainsFunc(v.obstacles, func(o obstacle) bool { return o.container == container && o.whole })
}

// obstacle is what stood in the way in one container.
type obstacle struct {
	container string
	outcome   Outcome
	// whole tells that nothing in the container could be looked at.
	whole bool
}

// unwanted are the processes with an agent of ours that are chosen no more: the
// rules exclude them, or their container is looked into no more.
func (v *sighting) unwanted(s *Scope) []v1alpha1.JavaProcess {
	var unwanted []v1alpha1.JavaProcess
	for _, p := range v.found {
		known := s.known(Identity(&p.JavaProcess))
		if p.Refusal == v1alpha1.RefusalExcluded && (p.AgentFound || known != nil && Ours(known)) {
			unwanted = append(unwanted, p.JavaProcess)
		}
	}
	for _, p := range s.Status().Processes {
		seen := slices.ContainsFunc(v.found, func(f sighted) bool { return Identity(&f.JavaProcess) == Identity(&p) })
		if Ours(&p) && !seen && Runs(s.Pod, &p) && !v.stoodInTheWay(p.Container) {
			unwanted = append(unwanted, p)
		}
	}
	return unwanted
}

// released notes that the agent in a process was stopped.
func (v *sighting) released(id ProcessIdentity) {
	for i := range v.found {
		if p := &v.found[i].JavaProcess; Identity(p) == id {
			p.AgentFound = false
		}
	}
}

// outcome is decided by the processes that are to be attached to. Without one it
// is what may pass by itself, so that a pod is refused for good only when no
// container is left in which a JVM could be about to start.
func (v *sighting) outcome(s *Scope) Outcome {
	if len(s.Chosen()) > 0 {
		return Reached(v.describe(s.Chosen()))
	}
	for _, o := range v.obstacles {
		if o.outcome.Kind != Stop {
			return in(container{name: o.container}, o.outcome)
		}
	}
	// A JVM that refuses decides; a container that cannot be looked into does
	// not, as long as another may be about to start one.
	for _, o := range v.obstacles {
		refuses := slices.ContainsFunc(v.found, func(p sighted) bool { return p.Refusal == o.outcome.Reason })
		if len(v.found) == 0 && v.withoutJava == 0 || refuses {
			return in(container{name: o.container}, o.outcome)
		}
	}
	if len(v.found) > 0 {
		return NotReached(v1alpha1.ReasonNoProcessIncluded,
			fmt.Sprintf("The rules in spec.processes exclude all %d Java processes of the pod.", len(v.found)))
	}
	return NotReached(v1alpha1.ReasonNoJavaProcess, strings.Join(append(
		[]string{"No container of the pod runs a Java process."}, v.leftAlone()...), " "))
}

func in(c container, o Outcome) Outcome {
	o.Message = fmt.Sprintf("Container %s: %s", c.name, o.Message)
	o.Back = ""
	return o
}

func javaProcess(c container, p attach.Process) v1alpha1.JavaProcess {
	found := v1alpha1.JavaProcess{
		Container: c.name, ContainerID: c.id,
		PID: int32(p.PID), StartTime: int64(p.StartTime), UID: int64(p.UID), GID: int64(p.GID),
		Implementation: text.Cut(p.Implementation, 64), Vendor: text.Cut(p.Vendor, 128),
		Version: text.Cut(p.Version, 64), MainClass: text.Cut(p.MainClass, 512),
	}
	return found
}

func (v *sighting) describe(chosen []*v1alpha1.JavaProcess) string {
	var sentences []string
	for i, p := range chosen {
		if i == 3 && len(chosen) > 4 {
			sentences = append(sentences, fmt.Sprintf("And %d more.", len(chosen)-i))
			break
		}
		what := strings.TrimSpace(strings.Join([]string{p.Implementation, p.Version}, " "))
		sentence := fmt.Sprintf("%s runs %s in container %s", what, cmp.Or(p.MainClass, "a Java program"), p.Container)
		if p.Adopted {
			sentence += fmt.Sprintf(", with the stock JMX exporter on port %d", p.Port)
		}
		sentences = append(sentences, sentence+".")
	}
	return strings.Join(append(sentences, v.leftAlone()...), " ")
}

func (v *sighting) leftAlone() []string {
	var sentences []string
	for _, o := range v.obstacles {
		sentences = append(sentences, leftAlone(o.container, o.outcome))
	}
	return sentences
}
