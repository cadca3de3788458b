//go:build linux

package helper

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const mib = 1 << 20

// checkMemory refuses an operation that needs more memory, in bytes, than the control
// groups of a process leave: at the limit the kernel kills a process, most likely the
// JVM. Without a visible limit, nothing is refused.
func checkMemory(pid int, need int64, what string) error {
	var memory cgroup.Memory
	var limited bool
	if err := jvm.AsUserOf(pid, func() error { memory, limited = cgroup.FreeMemory(pid); return nil }); err != nil {
		memory, limited = cgroup.FreeMemory(pid)
	}
	if !limited || memory.Free >= need {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonInsufficientMemory, "%s needs %d MiB free below the memory limit of %d MiB; less than %d MiB are free. Raise the limit, lower the application's use (-Xmx), or lower spec.memoryHeadroom.",
		what, inMiB(need, 1), memory.Limit/mib, min(inMiB(memory.Free+1, freeStep), inMiB(need, 1)))
}

// freeStep is the multiple of MiB to which messages round free memory: it changes
// constantly, and each new message is a write to a status.
const freeStep = 8

// inMiB rounds bytes up to a multiple of step MiB.
func inMiB(bytes, step int64) int64 { return (bytes + step*mib - 1) / (step * mib) * step }

// openSocket is a variable for a test that uses up memory during the attach.
var openSocket = jvm.Process.Attach

// attach opens the JVM's attach socket, unless there is too little memory for the next
// operation. An agent that is present already has most of the memory that it needs.
// Another implementation, or a stopped one, loads its own classes again, which needs a
// quarter of the headroom. Another configuration or port is never refused, because it may
// make scrapes smaller.
func (a *agent) attach(ctx context.Context, d helperapi.Desired, headroom int64) error {
	loaded, err := agentLoaded(a.process)
	if err != nil {
		return err
	}
	if !loaded {
		if err := a.checkWarning(); err != nil {
			return err
		}
		if err := checkMemory(a.process.PID, headroom, "The first load of the agent"); err != nil {
			return err
		}
	}
	if err := openSocket(a.process, ctx); err != nil {
		return err
	}
	if !loaded { // check again: Attach waits for a JVM that is starting, whose heap grows meanwhile
		return checkMemory(a.process.PID, headroom, "The first load of the agent")
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.unknown() || a.says(helperapi.AgentRunning) && a.mark.ImplementationSHA256 == d.ImplementationSHA256 {
		return nil
	}
	return checkMemory(a.process.PID, headroom/4, "A start of the agent's implementation")
}

// checkStagedMemory refuses to stage files if there is less memory than twice their size,
// whether /tmp is in memory or on a disk, where dirty pages count until they are written
// back. If no JVM has an agent yet, the files are for a first load, and its headroom is
// required too.
func checkStagedMemory(req helperapi.Request, files []helperapi.File) error {
	if req.MemoryHeadroom <= 0 || len(files) == 0 {
		return nil
	}
	need, what := req.MemoryHeadroom, "The first load of the agent, with its files,"
	pid, err := memberOf(req)
	if err != nil {
		return err
	}
	present, err := agentPresent(req)
	if err != nil {
		return err
	}
	if present {
		need, what = 0, "Staging the agent's files"
	}
	for _, file := range files {
		need += 2 * file.Size
	}
	return checkMemory(pid, need, what)
}

// memoryOf returns the memory that the control groups of a process leave it; nil without
// a limit.
func memoryOf(p jvm.Process) *helperapi.Memory {
	memory, limited := cgroup.FreeMemory(p.PID)
	if !limited {
		return nil
	}
	return &helperapi.Memory{Limit: memory.Limit, Free: memory.Free}
}

// agentPresent reports whether our agent is in the target or, without a target, in any
// JVM of the container.
func agentPresent(req helperapi.Request) (bool, error) {
	if req.Target != nil {
		p, err := lookup(req)
		if err != nil {
			return false, err
		}
		return agentLoaded(p)
	}
	found, err := jvm.Find()
	if err != nil {
		return false, err
	}
	for _, p := range found {
		if outsideContainer(req, p) {
			continue
		}
		if loaded, err := agentLoaded(p); err == nil && loaded {
			return true, nil
		}
	}
	return false, nil
}
