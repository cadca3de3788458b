//go:build linux

package helper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

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
	process, _, err := observe(ctx, req, p)
	if err != nil {
		return err
	}
	defer func() { report.Processes = []helperapi.Process{process} }()
	if err := foreignJar(process); err != nil {
		return err
	}
	dir, err := directoryIn(p, process.AgentJarOpen)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	unlock, err := dir.lock(ctx, jvmName(p)+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	a := agent{process: p, dir: dir, file: jvmName(p) + desiredSuffix, jarOpen: process.AgentJarOpen}
	if process.AgentJarOpen {
		err = a.stop(ctx)
		process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
		if err != nil {
			return err
		}
	}
	report.AgentsLeft = !dir.lastAgent(p)
	return dir.clear(p)
}

// stop requests the agent to stop, and waits until it reports that it did.
func (a *agent) stop(ctx context.Context) error {
	if err := a.process.Attach(ctx); err != nil {
		return err
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.says(helperapi.AgentStopped) {
		return nil
	}
	want := stoppedPairs(a.dir.readPairs(a.file))
	want.Del("token")
	want.Set("token", newToken(want, time.Now()))
	if err := a.dir.writePairs(a.file, want); err != nil {
		return err
	}
	if err := a.await(ctx, want.Get("token")); err != nil {
		return err
	}
	if a.mark.State != helperapi.AgentStopped {
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent did not stop: %s.", a.mark.Message)
	}
	return nil
}

// clear removes the files of one JVM, and the shared files if no other JVM has a desired
// file. It removes the lock last, because it is held until then, and then the agent
// directory if it is empty.
func (dir *directory) clear(p jvm.Process) error {
	desired := dir.readPairs(jvmName(p) + desiredSuffix)
	own := func(name string) bool { return strings.HasPrefix(name, jvmName(p)+".") }
	shared := dir.lastAgent(p)
	for _, name := range dir.names() {
		_, ours := helperapi.FileDigest(name)
		if name == jvmName(p)+lockSuffix || !own(name) && !(shared && ours) {
			continue
		}
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir.removeSecurity(desired)
	if err := dir.Remove(jvmName(p) + lockSuffix); err != nil {
		return err
	}
	dir.removeIfEmpty()
	return nil
}

// lastAgent reports whether no other JVM has a desired file.
func (dir *directory) lastAgent(p jvm.Process) bool {
	return !slices.ContainsFunc(dir.names(), func(name string) bool {
		return path.Ext(name) == desiredSuffix && !strings.HasPrefix(name, jvmName(p)+".")
	})
}

// clearGone removes the files of a JVM that has exited from the container's agent
// directory, and the leftovers there.
func clearGone(req helperapi.Request, report *helperapi.Report) error {
	target := req.Target
	dir, err := directoryOf(helperapi.Request{ContainerID: req.ContainerID}, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && typed(err).Reason == helperapi.ReasonProcessGone { // the container has exited too
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	stem := fmt.Sprintf("%d-%d", target.PID, target.StartTime)
	desired := dir.readPairs(stem + desiredSuffix)
	dir.discard(stem + desiredSuffix)
	dir.removeSecurity(desired)
	dir.discard(stem + lockSuffix)
	dir.sweep()
	report.AgentsLeft = slices.ContainsFunc(dir.names(), func(name string) bool { return path.Ext(name) == desiredSuffix })
	self, _ := os.Executable() // if unknown, this helper's own file is removed too; the next session installs it
	dir.prune(path.Base(self))
	dir.removeIfEmpty()
	return nil
}
