package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// containers stands for the containers that the operator executes in: a fake
// transport.Helper and probe.Prober that inject faults and count calls. It keeps the
// relevant state of a container: the digests of its files, its JVMs by PID and start
// time, the agent's mark in each, and the number of loads.
//
// Real helpers in real JVMs are tested in internal/helper and test/e2e.
type containers struct {
	mu  sync.Mutex
	all map[containerKey]*container
	// faults are the errors of verbs, until mend.
	faults map[helperapi.Verb]error
	// calls are the verbs run, in order.
	calls []helperapi.Verb
	// probe is the endpoint's answer from outside of the pod, and health the answer of
	// whatever process listens.
	probe, health error
	// notices are those of every agent at its health page; nil for an older agent.
	notices *helperapi.Notices
	// judgements are those of the agents, by container; an older helper, which does not know
	// the verb, has none.
	judgements map[string]*helperapi.Judgement
	// checked are the requests for them.
	checked []helperapi.Request
	// restored is what a helper says that has a judgement, and no answer to what it wrote after it.
	restored error
}

type containerKey struct {
	pod  types.UID
	name string
}

// container is one container, until it restarts.
type container struct {
	files map[helperapi.File]bool
	jvms  []*jvm
	// busy are ports on which a foreign process listens.
	busy []int32
	// helper reports that the helper was left in the container, and looks counts the inspections
	// that searched for Java.
	helper bool
	looks  int
	// exposed: whoever shares its /tmp may replace files there.
	exposed bool
	// pod are the containers of the pod, which share its network.
	pod func() []*container
	// fault is the error of every exec; hangs makes every exec block.
	fault error
	hangs bool
	// noShell: there is no shell for an exec.
	noShell bool
}

// jvm is one Java process.
type jvm struct {
	helperapi.Process
	// loads counts the loads of an agent: rule 1 allows one.
	loads int
	// unloads counts how often the agent was stopped.
	unloads int
	// asked are the configurations that loads were requested with, each once.
	asked []string
	// fault is the error of a load, and of an unload after that.
	fault, stays error
	// argument is an argument of its command line, for the rules.
	argument string
	// identity is the identity that its agent was given.
	identity string
	// notices are those of its agent after a load.
	notices helperapi.Notices
}

const (
	javaPID       = 7
	javaStartTime = 4711000
)

func newContainers() *containers {
	return &containers{all: map[containerKey]*container{}, faults: map[helperapi.Verb]error{}}
}

// aJVM returns a Java process that can be attached to.
func aJVM(startTime uint64) *jvm {
	return &jvm{Process: helperapi.Process{
		Target: helperapi.Target{PID: javaPID, StartTime: startTime}, UID: 1000, GID: 1000,
		Implementation: "HotSpot", Vendor: "Eclipse Adoptium", Version: "17.0.15", MainClass: "com.example.Main",
	}}
}

// start replaces a container with a new one.
func (cs *containers) start(pod types.UID, name string, jvms ...*jvm) *container {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := &container{files: map[helperapi.File]bool{}, jvms: jvms}
	c.pod = func() []*container {
		var all []*container
		for key, c := range cs.all {
			if key.pod == pod {
				all = append(all, c)
			}
		}
		return all
	}
	cs.all[containerKey{pod, name}] = c
	return c
}

func (cs *containers) get(pod types.UID, name string) *container {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.all[containerKey{pod, name}]
}

// fail makes a verb fail with a reason, until mend.
func (cs *containers) fail(verb helperapi.Verb, reason string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.faults[verb] = fault(reason)
}

func (cs *containers) mend() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	clear(cs.faults)
	cs.probe, cs.health = nil, nil
}

// replace replaces the JVMs of a running container. Nothing listens on the ports of
// the earlier ones, until mend.
func (cs *containers) replace(c *container, jvms ...*jvm) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.jvms = jvms
	cs.health = errors.New("connection refused")
}

// called returns the verbs run since the previous call.
func (cs *containers) called() []helperapi.Verb {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	calls := cs.calls
	cs.calls = nil
	return calls
}

func fault(reason string) error {
	return &transport.Error{Reason: reason, Message: "The container says " + reason + "."}
}

// helperFunc is a function that implements transport.Helper.
type helperFunc func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error)

// Run implements transport.Helper.
func (f helperFunc) Run(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	return f(ctx, in, verb, request, blobs...)
}

// through returns the helper with its execs behind a seam. An error of the seam is an
// exec that was interrupted.
func (cs *containers) through(seam effects.Seam) transport.Helper {
	return helperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		var report *helperapi.Report
		effect := effects.Effect{Kind: effects.Exec, What: string(verb), On: fmt.Sprintf("%s/%s/%s", in.Namespace, in.Pod, in.Name)}
		err := seam(ctx, effect, func(context.Context) error {
			if c := cs.get(in.PodUID, in.Name); c != nil && c.noShell {
				return fault(v1alpha1.ReasonNoShell)
			}
			var err error
			report, err = cs.exec(in, verb, request, blobs)
			return err
		})
		var known *transport.Error
		if err != nil && !errors.As(err, &known) {
			err = &transport.Error{Reason: v1alpha1.ReasonExecFailed, Message: "The exec into the container was interrupted.", Err: err}
		}
		return report, err // both, if the helper reports an error
	})
}

func (cs *containers) exec(in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs []transport.Blob) (*helperapi.Report, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.calls = append(cs.calls, verb)
	c := cs.all[containerKey{in.PodUID, in.Name}]
	if c == nil {
		return nil, fault(v1alpha1.ReasonPodGone)
	}
	if err := errors.Join(cs.faults[verb], c.fault); err != nil {
		return nil, err
	}
	c.helper = !in.Transient
	switch verb {
	case helperapi.VerbCheck:
		judgement := cs.judgements[in.Name]
		if judgement == nil {
			return nil, &transport.Error{Reason: v1alpha1.ReasonBadRequest, Message: `There is no operation "check".`}
		}
		cs.checked = append(cs.checked, request)
		return &helperapi.Report{Judgement: judgement}, cs.restored
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
		return nil, fault(v1alpha1.ReasonBadRequest)
	}
}

// prober probes endpoints as an operator does, through a seam.
type prober struct {
	*containers
	seam effects.Seam
}

// Probe implements probe.Prober.
func (p prober) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	effect := effects.Effect{Kind: effects.HTTP, What: "probe", On: fmt.Sprintf("%s:%d", address, process.Port)}
	err := p.seam(ctx, effect, func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.probe
	})
	var known *transport.Error
	if err != nil && !errors.As(err, &known) {
		err = &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "The endpoint cannot be reached.", Err: errors.Join(probe.ErrUnreachable, err)}
	}
	return err
}

// Answers implements probe.Prober.
func (p prober) Answers(ctx context.Context, process *v1alpha1.JavaProcess) (notices *helperapi.Notices, err error) {
	effect := effects.Effect{Kind: effects.HTTP, What: "health", On: fmt.Sprintf("%s:%d", process.Endpoint.Address, process.Endpoint.Port)}
	err = p.seam(ctx, effect, func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		notices = p.notices
		return p.health
	})
	return notices, err
}
