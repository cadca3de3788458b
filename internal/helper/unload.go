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

// unload stops the agent and removes what was written for it. Without a process
// there is nothing to stop.
func unload(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	p, err := lookup(req)
	if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
		return clearGone(req.Target)
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
	h, err := homeIn(p, process.AgentJarOpen)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	unlock, err := h.lock(ctx, jvmName(p)+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	a := agent{process: p, home: h, file: jvmName(p) + desiredSuffix, jarOpen: process.AgentJarOpen}
	if process.AgentJarOpen {
		err = a.stop(ctx)
		process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
		if err != nil {
			return err
		}
	}
	return h.clear(p)
}

// stop tells the agent to stop, and waits until it says that it did.
func (a *agent) stop(ctx context.Context) error {
	if err := a.process.Attach(ctx); err != nil {
		return err
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.mark != nil && a.mark.State == helperapi.AgentStopped {
		return nil
	}
	want := stoppedPairs(a.home.readPairs(a.file))
	want.Del("token")
	want.Set("token", newToken(want, time.Now()))
	if err := a.home.writePairs(a.file, want); err != nil {
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

// clear removes the files of one JVM, and those that all share once no other
// JVM has a desired file. The lock goes last: until then it is held. With it, Home
// does if it is empty.
func (h *home) clear(p jvm.Process) error {
	names := h.names()
	own := func(name string) bool { return strings.HasPrefix(name, jvmName(p)+".") }
	shared := !slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == desiredSuffix && !own(name) })
	for _, name := range names {
		_, ours := helperapi.FileDigest(name)
		if name == jvmName(p)+lockSuffix || !own(name) && !(shared && ours) {
			continue
		}
		if err := h.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := h.Remove(jvmName(p) + lockSuffix); err != nil {
		return err
	}
	h.abandon()
	return nil
}

// clearGone removes the files of a JVM that is gone, from our own Home, and what
// others left there.
func clearGone(target *helperapi.Target) error {
	h, err := homeOf(helperapi.Request{}, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	stem := fmt.Sprintf("%d-%d", target.PID, target.StartTime)
	h.discard(stem + desiredSuffix)
	h.discard(stem + lockSuffix)
	h.sweep()
	self, _ := os.Executable()
	h.prune(path.Base(self))
	h.abandon()
	return nil
}
