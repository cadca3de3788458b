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

// answerTimeout is how long an agent may take to answer a changed desired file, which it
// checks every half second.
const answerTimeout = 5 * time.Second

// agent is the state of our agent in one JVM, as visible from outside.
type agent struct {
	process jvm.Process
	dir     *directory
	file    string // name of the desired file
	// jar is the name of the trampoline to load if there is none yet, and sha256 its
	// digest; empty if unknown. Both are used by load only.
	jar, sha256 string
	// jars are the jars that the JVM may be made to run.
	jars Jars
	// silent makes the operation refuse a load that makes the JVM print a warning.
	silent  bool
	mark    *helperapi.Mark
	jarOpen bool
}

// look reads the mark and the open jars. The JVM answers requests in order, so a load in
// progress has finished once the mark is read. A mark without the jar is inherited from
// another JVM that passes its system properties to its children.
func (a *agent) look(ctx context.Context) error {
	mark, err := readMark(ctx, a.process)
	if err != nil {
		return err
	}
	a.mark, a.jarOpen = nil, false
	jars, err := trampolines(a.process)
	if err != nil {
		return err
	}
	for _, jar := range jars {
		if path.Base(jar.Name) == a.jar && a.sha256 != "" && jar.SHA256 != a.sha256 {
			return foreign(jar, "its content is another than was staged")
		}
	}
	if a.jarOpen = len(jars) > 0; a.jarOpen {
		a.mark = mark
	}
	return nil
}

// loadAgent is a variable for a test that replaces the jar during the load.
var loadAgent = jvm.Process.LoadAgent

// serve makes the agent serve the desired state, and reports whether that required a
// load. If the JVM turns out to have loaded a foreign jar, the desired file is removed.
func (a *agent) serve(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
	defer func() {
		if isForeign(err) {
			_ = a.dir.Remove(a.file) // the original error is returned
		}
	}()
	return a.reconfigure(ctx, d)
}

// reconfigure does the work of serve, without the cleanup for a foreign jar.
func (a *agent) reconfigure(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
	if err := a.look(ctx); err != nil {
		return false, err
	}
	want := runningPairs(d)
	current := a.dir.readPairs(a.file)
	if d.Identity == "" && current.Has("identity") { // an empty Identity keeps the current one
		want.Set("identity", current.Get("identity"))
	}
	if serves(a.mark, d) && sameContent(current, want) && current.Get("token") == a.mark.Desired {
		return false, checkReload(current, a.mark)
	}
	if err := a.checkPort(d.Port); err != nil {
		return false, err
	}
	load := a.mark == nil && !a.jarOpen || a.says(helperapi.AgentStopped)
	if err := a.checkLoaded(d, load); err != nil {
		return false, err
	}
	if load {
		if err := a.checkWarning(); err != nil {
			return false, err
		}
	}
	noteReloads(want, current, a.mark)
	want.Set("token", newToken(want, time.Now()))
	if err := a.dir.writePairs(a.file, want); err != nil {
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
	a.dir.removeSecurity(current)
	if err := a.verdict(d); err != nil {
		return loaded, err
	}
	return loaded, checkReload(want, a.mark)
}

// checkPort refuses a port that another process listens on, before the agent is loaded or
// reconfigured.
func (a *agent) checkPort(port int32) error {
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

// unknown reports whether the agent is present, but not known to serve or where.
func (a *agent) unknown() bool {
	return a.mark == nil && a.jarOpen || a.says(helperapi.AgentStarting)
}

// says reports whether there is a mark with the given state.
func (a *agent) says(state helperapi.AgentState) bool { return a.mark != nil && a.mark.State == state }

// await polls the mark until it answers the token and is no longer starting.
func (a *agent) await(ctx context.Context, token string) error {
	// The timeout limits the agent's answer, not a look: a look in progress when it
	// expires says nothing about the JVM.
	timeout, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for interval := 5 * time.Millisecond; ; interval = min(2*interval, 100*time.Millisecond) {
		if err := a.look(ctx); err != nil {
			return err
		}
		if a.mark != nil && a.mark.Desired == token && a.mark.State != helperapi.AgentStarting || a.idle() {
			return nil
		}
		select {
		case <-timeout.Done():
			return a.silence()
		case <-time.After(interval):
		}
	}
}

// idle reports whether the agent failed to start the thread that watches the desired
// file: it will not answer, and another load retries.
func (a *agent) idle() bool {
	return a.says(helperapi.AgentStopped) && a.mark.Reason != ""
}

func (a *agent) silence() error {
	switch {
	case a.mark == nil && !a.jarOpen && !a.dir.inPlace(a.process):
		return helperapi.Errorf(helperapi.ReasonForeignJar, "%s was exchanged while the JVM loaded the agent from there. Find out who did it and what the JVM loaded, then restart the container.", helperapi.AgentDirectory)
	case a.mark == nil && !a.jarOpen:
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent was loaded but is no longer present; see the application's standard error.")
	case a.mark == nil:
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is in the JVM, but wrote no mark within %s: it may not write the JVM's system properties, or the JVM is starved of CPU or memory. Grant it PropertyPermission \"*\", \"read,write\", or more CPU or memory.", answerTimeout)
	default:
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is %s and did not answer within %s.", a.mark.State, answerTimeout)
	}
}

// verdict converts the agent's answer to the result of the operation.
func (a *agent) verdict(d helperapi.Desired) error {
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
