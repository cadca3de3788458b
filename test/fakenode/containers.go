//go:build linux

package fakenode

import (
	"errors"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Containers are the containers that the operator executes in. They count what is asked of
// them, and inject faults.
type Containers struct {
	mu  sync.Mutex
	all map[Place]*Container
	dir string
	// Faults are the errors of verbs, until Mend.
	Faults map[helperapi.Verb]error
	// ProbeFault is the endpoint's answer from outside of the pod, and HealthFault the answer
	// of whatever process listens.
	ProbeFault, HealthFault error
	// Notices are those of every agent at its health page; nil for an older agent.
	Notices *helperapi.Notices
	// Judgements are those of the agents, by container; an older helper, which does not know
	// the verb, has none.
	Judgements map[string]*helperapi.Judgement
	// Checked are the requests for them.
	Checked []helperapi.Request
	// Restored is what a helper says that has a judgement, and no answer to what it wrote after it.
	Restored error
	// OnCall, if set, is called before each operation in a session, and OnDone after it,
	// before the answer.
	OnCall, OnDone func(Place, helperapi.Verb, helperapi.Request)
	// OnLoad, if set, is called in the middle of a load: the JVM has been looked at, and
	// nothing is changed in it yet.
	OnLoad func(*JVM)
	// OnLock, if set, is called when a session comes to the lock of a JVM, which another one
	// may hold.
	OnLock func(*JVM)
	// OnEnd, if set, is called when a command in a container ends.
	OnEnd func(*Container)

	calls    []helperapi.Verb
	sessions int
}

// Place is where a container runs.
type Place struct {
	Pod  types.UID
	Name string
}

// New returns no containers yet. Their files are removed when the test ends.
func New(t testing.TB) *Containers { return Below(t.TempDir()) }

// Below returns no containers yet, whose files are below a directory.
func Below(dir string) *Containers {
	return &Containers{all: map[Place]*Container{}, Faults: map[helperapi.Verb]error{}, dir: dir}
}

// Start replaces a container with a new one. What runs in the one before ends.
func (cs *Containers) Start(pod types.UID, name string, jvms ...*JVM) *Container {
	c := newContainer(cs, pod, jvms)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.remove(Place{pod, name})
	cs.all[Place{pod, name}] = c
	return c
}

// Remove ends a container.
func (cs *Containers) Remove(pod types.UID, name string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.remove(Place{pod, name})
}

func (cs *Containers) remove(at Place) {
	if before := cs.all[at]; before != nil {
		close(before.exited)
		delete(cs.all, at)
	}
}

// Get returns the container that runs; nil if none does.
func (cs *Containers) Get(pod types.UID, name string) *Container {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.all[Place{pod, name}]
}

// Fail makes a verb fail with a reason, until Mend.
func (cs *Containers) Fail(verb helperapi.Verb, reason string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.Faults[verb] = Fault(reason)
}

// Mend ends all faults of verbs and endpoints.
func (cs *Containers) Mend() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	clear(cs.Faults)
	cs.ProbeFault, cs.HealthFault = nil, nil
}

// Replace replaces the JVMs of a running container. Nothing listens on the ports of
// the earlier ones, until Mend.
func (cs *Containers) Replace(c *Container, jvms ...*JVM) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.JVMs = jvms
	cs.HealthFault = errors.New("connection refused")
}

// Called returns the verbs run since the previous call.
func (cs *Containers) Called() []helperapi.Verb {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	calls := cs.calls
	cs.calls = nil
	return calls
}

// Sessions counts the commands that were executed in containers.
func (cs *Containers) Sessions() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.sessions
}

// Serves reports whether an agent runs in the JVM.
func (cs *Containers) Serves(j *JVM) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return j.Running()
}

// Locked calls do while nothing happens in any container.
func (cs *Containers) Locked(do func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	do()
}

// Exec performs one operation of the helper in a container.
func (cs *Containers) Exec(in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs []transport.Blob) (*helperapi.Report, error) {
	at := Place{in.PodUID, in.Name}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.all[at]
	if c == nil {
		cs.calls = append(cs.calls, verb)
		return nil, Fault(v1alpha1.ReasonPodGone)
	}
	return cs.perform(c, at.Name, !in.Transient, verb, request, blobs)
}

// perform performs an operation in a container. The caller holds cs.mu.
func (cs *Containers) perform(c *Container, name string, stays bool, verb helperapi.Verb, request helperapi.Request, blobs []transport.Blob) (*helperapi.Report, error) {
	cs.calls = append(cs.calls, verb)
	if err := errors.Join(cs.Faults[verb], c.Fault); err != nil {
		return nil, err
	}
	c.Helper = stays
	switch verb {
	case helperapi.VerbCheck:
		judgement := cs.Judgements[name]
		if judgement == nil {
			return nil, &transport.Error{Reason: v1alpha1.ReasonBadRequest, Message: `There is no operation "check".`}
		}
		cs.Checked = append(cs.Checked, request)
		return &helperapi.Report{Judgement: judgement}, cs.Restored
	case helperapi.VerbInspect:
		return c.inspect(request), nil
	case helperapi.VerbStage:
		return c.stage(request.Files, blobs)
	case helperapi.VerbLoad:
		return c.load(request)
	case helperapi.VerbUnload:
		return c.unload(request)
	case helperapi.VerbStatus:
		return c.status(request)
	case helperapi.VerbProbe:
		return c.answer(request.Probe.Port)
	default:
		return nil, Fault(v1alpha1.ReasonBadRequest)
	}
}

// Listening returns the ports on which something listens in a container's pod.
func (cs *Containers) Listening(pod types.UID, name string) []int32 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.all[Place{pod, name}]; c != nil {
		return c.listening()
	}
	return nil
}
