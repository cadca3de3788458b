//go:build linux

package fakenode

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Fault is the error of a container with a reason.
func Fault(reason string) error {
	return &transport.Error{Reason: reason, Message: "The container says " + reason + "."}
}

func (c *Container) inspect(request helperapi.Request) *helperapi.Report {
	if len(request.Files) == 0 {
		c.Looks++
	}
	report := &helperapi.Report{}
	for _, j := range c.JVMs {
		p := j.Process
		p.Excluded = j.excluded(request.Rules)
		if c.Exposed && request.TmpMountedElsewhere && !request.AllowSharedTmp {
			p.Refusal = &helperapi.Error{Reason: helperapi.ReasonTmpShared, Message: "The container says TmpShared."}
		}
		report.Processes = append(report.Processes, p)
	}
	for _, file := range request.Files {
		if c.has(file) {
			report.Files = append(report.Files, file)
		}
	}
	return report
}

// stage writes what arrived of each file.
func (c *Container) stage(files []helperapi.File, blobs []transport.Blob) (*helperapi.Report, error) {
	for i, blob := range blobs {
		if files[i] != blob.File {
			return nil, Fault(v1alpha1.ReasonStagingIncomplete)
		}
		if err := c.put(blob); err != nil {
			return nil, asFault(err)
		}
	}
	return &helperapi.Report{}, nil
}

// load is idempotent: an agent that is present is reconfigured, not loaded.
func (c *Container) load(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	if j == nil {
		return nil, Fault(v1alpha1.ReasonProcessGone)
	}
	desired := request.Desired
	j.ask(desired.ConfigSHA256)
	switch {
	case j.Refusal != nil:
		return nil, Fault(string(j.Refusal.Reason))
	case j.Fault != nil:
		return nil, j.Fault
	case j.Exporter != nil && j.Mark == nil:
		return nil, Fault(string(helperapi.ReasonStockExporter))
	}
	dir, turn, err := c.lock(j, false)
	if err != nil {
		return nil, asFault(err)
	}
	defer dir.Close()
	defer turn.Close()
	if err := dir.Verify(*desired); err != nil {
		return nil, Fault(v1alpha1.ReasonStagingIncomplete)
	}
	if j.Mark == nil && request.RefuseOnWarning && j.LoadWarns {
		return nil, Fault(v1alpha1.ReasonAgentLoadingWarns)
	}
	port, free := c.choose(j, desired)
	if !free {
		return nil, Fault(v1alpha1.ReasonPortInUse)
	}
	if j.serves(desired, port) {
		turn.Confirm()
		return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
	}
	if err := desire(dir, j, desired); err != nil {
		return nil, asFault(err)
	}
	j.attach()
	present := j.Mark != nil
	c.meanwhile(func() { c.all.loads(j) })
	if c.hasExited() {
		return nil, errKilled
	}
	if !present {
		j.Loads++
	}
	j.AgentJarOpen = true // as long as the JVM lives
	j.Identity = desired.Identity
	j.Mark = &helperapi.Mark{
		Protocol: 1, State: helperapi.AgentRunning, Agent: "1.0.0", Loads: j.Loads, Port: port,
		ConfigSHA256: desired.ConfigSHA256, SecuritySHA256: desired.SecuritySHA256, ImplementationSHA256: desired.ImplementationSHA256,
		Notices: j.Notices,
	}
	return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
}

// loads calls OnLoad.
func (cs *Containers) loads(j *JVM) {
	if cs.OnLoad != nil {
		cs.OnLoad(j)
	}
}

// desire writes the desired file of a JVM's agent, by which the directory knows what is in
// use.
func desire(dir *directory.Directory, j *JVM, desired *helperapi.Desired) error {
	name := directory.DesiredFile(j.process())
	before := dir.ReadDesired(name)
	defer dir.RemoveSecurity(before)
	return dir.WriteDesired(name, url.Values{
		"implementation": {desired.Implementation}, "config": {desired.Config}, "security": {desired.Security},
	})
}

// lock opens the agent directory with the lock of a JVM, which another session may hold
// meanwhile. The caller closes both.
func (c *Container) lock(j *JVM, create bool) (dir *directory.Directory, turn *directory.Turn, err error) {
	dir, err = c.open(create)
	if err != nil {
		return nil, nil, err
	}
	turn, err = dir.Turn(j.process())
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	c.meanwhile(func() {
		if c.all.OnLock != nil {
			c.all.OnLock(j)
		}
		err = turn.Lock(context.Background())
	})
	if err != nil {
		turn.Close()
		dir.Close()
		return nil, nil, err
	}
	return dir, turn, nil
}

// choose returns the port to serve on: the desired one, else the current one, else the
// lowest free one that is not to be avoided. A foreign process may listen on it.
func (c *Container) choose(j *JVM, desired *helperapi.Desired) (port int32, free bool) {
	taken := c.listening()
	switch {
	case j.Running() && (desired.Port == 0 || desired.Port == j.Mark.Port):
		return j.Mark.Port, true
	case desired.Port != 0:
		return desired.Port, !slices.Contains(taken, desired.Port)
	}
	port = helperapi.FirstPort
	for slices.Contains(taken, port) || slices.Contains(desired.Avoid, port) {
		port++
	}
	return port, true
}

// unload is idempotent, also for an agent that is stopped or gone.
func (c *Container) unload(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	if j == nil {
		return c.clearGone(*request.Target)
	}
	if j.Stays != nil {
		return nil, j.Stays
	}
	dir, turn, err := c.lock(j, j.AgentJarOpen)
	if errors.Is(err, fs.ErrNotExist) {
		return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
	}
	if err != nil {
		return nil, asFault(err)
	}
	defer dir.Close()
	defer turn.Close()
	if j.Running() {
		j.attach()
		j.Unloads++
		j.Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped, Agent: "1.0.0", Loads: j.Loads}
	}
	report := &helperapi.Report{Processes: []helperapi.Process{j.Process}, AgentsLeft: !dir.LastAgent(j.process())}
	if err := dir.Clear(j.process()); err != nil {
		return report, asFault(err)
	}
	return report, nil
}

// clearGone removes the files of a JVM that has exited.
func (c *Container) clearGone(target helperapi.Target) (*helperapi.Report, error) {
	report := &helperapi.Report{}
	dir, err := c.open(false)
	if err != nil {
		return report, nil // there is no agent directory
	}
	defer dir.Close()
	if report.AgentsLeft, err = dir.ClearGone(target); err != nil {
		return report, asFault(err)
	}
	return report, nil
}

func (c *Container) status(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	if j == nil {
		return nil, Fault(v1alpha1.ReasonProcessGone)
	}
	return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
}

// answer is the answer of a port from within the pod.
func (c *Container) answer(port int32) (*helperapi.Report, error) {
	if slices.Contains(c.listening(), port) {
		return &helperapi.Report{}, nil
	}
	return nil, Fault(v1alpha1.ReasonEndpointNotServing)
}

// asFault is the error of a container for one of its agent directory.
func asFault(err error) error {
	if typed, ok := errors.AsType[*helperapi.Error](err); ok {
		return &transport.Error{Reason: string(typed.Reason), Message: typed.Message}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Fault(v1alpha1.ReasonStagingIncomplete)
	}
	return &transport.Error{Reason: v1alpha1.ReasonHelperFailed, Message: err.Error()}
}
