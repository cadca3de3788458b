//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// unload stops the agent and removes the files written for it. If the process has exited,
// there is nothing to stop.
func unload(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	p, err := lookup(req)
	if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
		return clearGone(req, report)
	}
	if err != nil {
		return err
	}
	dir, turn, missing := turnIn(p)
	if missing == nil {
		defer dir.Close()
		defer turn.Close()
	}
	process, _, err := observe(ctx, req, p)
	if err != nil {
		return err
	}
	defer func() { report.Processes = []helperapi.Process{process} }()
	if err := foreignJar(process); err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) && !process.AgentJarOpen {
		return nil
	}
	if missing != nil {
		return missing
	}
	if err := turn.Lock(ctx); err != nil {
		return err
	}
	a := agentIn{process: p, dir: dir, file: directory.DesiredFile(p), jarOpen: process.AgentJarOpen}
	if process.AgentJarOpen {
		err = a.stop(ctx)
		process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
		if err != nil {
			return err
		}
	}
	report.AgentsLeft = !dir.LastAgent(p)
	return dir.Clear(p)
}

// turnIn opens the agent directory that a JVM sees, which it creates if the JVM has loaded
// the agent from there, and returns a place at the JVM's lock. Unload takes it before it
// reads the mark, which may take long: its operator may be killed meanwhile, and the next
// one load the agent. The caller closes both.
func turnIn(p jvm.Process) (*directory.Directory, *directory.Turn, error) {
	loaded, err := agentLoaded(p)
	if isForeign(err) { // nothing is written beside a foreign jar
		return nil, nil, err
	}
	dir, err := directoryIn(p, loaded)
	if err != nil {
		return nil, nil, err
	}
	turn, err := dir.Turn(p)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, turn, nil
}

// stop requests the agent to stop, and waits until it reports that it did.
func (a *agentIn) stop(ctx context.Context) error {
	if err := a.openSocket(ctx); err != nil {
		return err
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.says(helperapi.AgentStopped) {
		return nil
	}
	if _, err := a.desire(ctx, stoppedPairs(a.dir.ReadDesired(a.file))); err != nil {
		return err
	}
	if a.mark.State != helperapi.AgentStopped {
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent did not stop: %s.", a.mark.Message)
	}
	return nil
}

// clearGone removes the files of a JVM that has exited from the container's agent
// directory, and the leftovers there.
func clearGone(req helperapi.Request, report *helperapi.Report) error {
	dir, err := directoryOf(helperapi.Request{ContainerID: req.ContainerID}, false)
	if errors.Is(err, fs.ErrNotExist) || err != nil && typed(err).Reason == helperapi.ReasonProcessGone { // the container has exited too
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	self, _ := os.Executable() // if unknown, this helper's own file is removed too; the next session installs it
	report.AgentsLeft, err = dir.ClearGone(*req.Target, path.Base(self))
	return err
}
