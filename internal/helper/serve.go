//go:build linux

package helper

import (
	"context"
	"path"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// attach is a variable for a test that uses up memory during the attach.
var attach = jvm.Process.Attach

// openSocket opens the JVM's attach socket, for which the JVM starts a thread, unless it
// has done so before.
func (a *agentIn) openSocket(ctx context.Context) error {
	return attach(a.process, ctx, func() error { return tryTasks(ctx, a.process) })
}

// checkStart refuses to start the agent's implementation, and its threads, in a JVM whose
// attach listener runs.
func (a *agentIn) checkStart(ctx context.Context) error {
	if err := checkTasks(ctx, a.process); err != nil {
		return err
	}
	return checkRoom(ctx, a.process)
}

// attach opens the JVM's attach socket, unless there is too little memory for the next
// operation. An agent that is present already has most of the memory that it needs.
// Another implementation, or a stopped one, loads its own classes again, which needs a
// quarter of the headroom. Another configuration or port is never refused, because it may
// make scrapes smaller.
func (a *agentIn) attach(ctx context.Context, req helperapi.Request) error {
	loaded, err := agentLoaded(a.process)
	if err != nil {
		return err
	}
	if !loaded {
		if err := checkWarning(a.process, a.silent); err != nil {
			return err
		}
		if err := checkMemory(req, a.process.PID, req.MemoryHeadroom, "The first load of the agent"); err != nil {
			return err
		}
		if err := checkHeapBefore(a.process); err != nil {
			return err
		}
	}
	if err := a.openSocket(ctx); err != nil {
		return err
	}
	if !loaded { // check again: Attach waits for a JVM that is starting, whose heap grows meanwhile
		if err := checkMemory(req, a.process.PID, req.MemoryHeadroom, "The first load of the agent"); err != nil {
			return err
		}
		return a.checkStart(ctx)
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.unknown() || a.says(helperapi.AgentRunning) && a.mark.ImplementationSHA256 == req.Desired.ImplementationSHA256 {
		return nil
	}
	if err := checkMemory(req, a.process.PID, req.MemoryHeadroom/4, "A start of the agent's implementation"); err != nil {
		return err
	}
	return a.checkStart(ctx)
}

// loadAgent is a variable for a test that replaces the jar during the load.
var loadAgent = jvm.Process.LoadAgent

// serve makes the agent serve the desired state, and reports whether that required a
// load. If the JVM turns out to have loaded a foreign jar, the desired file is removed.
func (a *agentIn) serve(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
	defer func() {
		if isForeign(err) {
			_ = a.dir.Remove(a.file) // the original error is returned
		}
	}()
	return a.reconfigure(ctx, d)
}

// reconfigure does the work of serve, without the cleanup for a foreign jar.
func (a *agentIn) reconfigure(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
	if err := a.look(ctx); err != nil {
		return false, err
	}
	want := runningPairs(d)
	current := a.dir.ReadDesired(a.file)
	left := withdrawCandidate(current)
	if d.Identity == "" && current.Has("identity") { // an empty Identity keeps the current one
		want.Set("identity", current.Get("identity"))
	}
	if !left && serves(a.mark, d) && sameContent(current, want) && current.Get("token") == a.mark.Desired {
		return false, checkReload(current, a.mark)
	}
	if err := a.checkPort(d.Port); err != nil {
		return false, err
	}
	load := a.mark == nil && !a.jarOpen || a.says(helperapi.AgentStopped)
	if err := a.checkLoaded(d, load); err != nil {
		return false, err
	}
	noteReloads(want, current, a.mark)
	want.Set("token", newToken(want, time.Now()))
	if err := a.dir.WriteDesired(a.file, want); err != nil {
		return false, err
	}
	if load {
		err := loadAgent(a.process, ctx, path.Join(helperapi.AgentDirectory, d.Agent), path.Join(helperapi.AgentDirectory, a.file))
		if err != nil {
			if looked := a.look(ctx); isForeign(looked) {
				err = looked
			}
			return false, err
		}
		loaded = true
	}
	if err := a.await(ctx, want.Get("token")); err != nil {
		return loaded, err
	}
	a.dir.RemoveSecurity(current)
	if err := a.verdict(d); err != nil {
		return loaded, err
	}
	return loaded, checkReload(want, a.mark)
}

// checkPort refuses a port that another process listens on, before the agent is loaded or
// reconfigured.
func (a *agentIn) checkPort(port int32) error {
	if a.unknown() || a.mark != nil && a.mark.Port == port {
		return nil // the listener may be the agent itself
	}
	ports, err := jvm.ListeningPorts(a.process.PID)
	if err != nil {
		return err
	}
	if slices.Contains(ports, port) {
		return helperapi.Errorf(helperapi.ReasonPortInUse, "Port %d is in use; choose another, or stop what listens there.", port)
	}
	return nil
}

// checkLoaded refuses to make a JVM run a jar other than the session's, unless the JVM
// runs it already; in answer, the operator stages its own jars. It also refuses a load
// that has to be silent and would not be.
func (a *agentIn) checkLoaded(d helperapi.Desired, load bool) error {
	runs := a.mark != nil && a.mark.ImplementationSHA256 == d.ImplementationSHA256
	switch {
	case load && !a.jars.allow(d.AgentSHA256):
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is none of the jars that the session was started with.", d.Agent)
	case !runs && !a.jars.allow(d.ImplementationSHA256):
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is none of the jars that the session was started with.", d.Implementation)
	case load:
		return checkWarning(a.process, a.silent)
	}
	return nil
}

// verdict converts the agent's answer to the result of the operation.
func (a *agentIn) verdict(d helperapi.Desired) error {
	switch {
	case serves(a.mark, d):
		return nil
	case a.mark.Reason != "":
		return &helperapi.Error{Reason: a.mark.Reason, Message: a.mark.Message}
	case d.SecuritySHA256 != "" && a.mark.State == helperapi.AgentRunning && a.mark.SecuritySHA256 == "":
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent serves port %d in the clear: it is older than endpoint security, and is to be replaced.", a.mark.Port)
	default:
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent is %s, on port %d with the configuration %.12s.", a.mark.State, a.mark.Port, a.mark.ConfigSHA256)
	}
}
