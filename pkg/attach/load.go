//go:build linux

package attach

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// answerPatience is how long an agent may take to answer what it was told. Its
// watcher looks at the desired file every half second.
const answerPatience = 5 * time.Second

// load brings the agent in one JVM to what is desired: loads it, or tells the
// one that is there. Whether it is there is looked at every time, under the
// JVM's lock; what an earlier load came to is never assumed.
func load(ctx context.Context, req Request, report *Report) error {
	if err := checkDesired(req.Desired); err != nil {
		return err
	}
	p, err := lookup(req)
	if err != nil {
		return err
	}
	process := describe(p)
	defer func() { report.Processes = []Process{process} }()
	if refusal := p.Refusal(); refusal != nil && refusal.Kind != jvm.JVMStarting { // Attach waits for that
		process.Refusal = typed(refusal)
		return refusal
	}
	if process.Exporter, err = refuseBesideStock(ctx, p); err != nil {
		return err
	}
	h, err := homeIn(p, false)
	if errors.Is(err, fs.ErrNotExist) {
		return failf(ReasonStagingIncomplete, "There is no %s.", Home)
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
	if err := h.verify(*req.Desired); err != nil {
		return err
	}
	if err := p.Attach(ctx); err != nil {
		return err
	}
	a := agent{process: p, home: h, file: jvmName(p) + desiredSuffix}
	loaded, err := a.bringOnPort(ctx, *req.Desired)
	process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
	if loaded {
		process.Warning = loadWarning(p)
	}
	if err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil { // else it might take itself for a leftover
		h.prune(path.Base(self), req.Desired.Agent)
	}
	return nil
}

func checkDesired(d *Desired) error {
	if d == nil {
		return failf(ReasonBadRequest, "Nothing is desired.")
	}
	for _, name := range []string{d.Agent, d.Implementation, d.Config} {
		if _, ok := digestOf(name); !ok {
			return failf(ReasonBadRequest, "%q is not the name of a file of %s.", name, Home)
		}
	}
	if !isSHA256(d.ImplementationSHA256) || !isSHA256(d.ConfigSHA256) {
		return failf(ReasonBadRequest, "A SHA-256 is missing.")
	}
	if len(d.Identity) > 64 || !isHex(d.Identity) {
		return failf(ReasonBadRequest, "The identity is not lower-case hexadecimal.")
	}
	if d.Port < 0 || d.Port > 65535 {
		return failf(ReasonBadRequest, "%d is not a port.", d.Port)
	}
	return nil
}

// lookup finds the process that a request is about.
func lookup(req Request) (jvm.Process, error) {
	if req.Target == nil {
		return jvm.Process{}, failf(ReasonBadRequest, "The request names no process.")
	}
	p, err := jvm.Lookup(req.Target.PID, req.Target.StartTime)
	if err == nil && req.PodUID != "" && p.InOtherContainer() {
		return p, failf(ReasonProcessGone, "Process %d is in another container.", p.PID)
	}
	return p, err
}

// verify makes sure that the files are those desired before a JVM reads them.
func (h *home) verify(d Desired) error {
	agent, _ := digestOf(d.Agent) // checked before
	for _, file := range []struct{ name, sum string }{
		{d.Agent, agent}, {d.Implementation, d.ImplementationSHA256}, {d.Config, d.ConfigSHA256},
	} {
		sum, _, err := h.digest(file.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || sum[:len(file.sum)] != file.sum {
			return failf(ReasonStagingIncomplete, "%s is missing or not what was staged.", path.Join(Home, file.name))
		}
	}
	return nil
}

// agent is our agent in one JVM, as far as it can be seen from outside.
type agent struct {
	process jvm.Process
	home    *home
	file    string // name of its desired file
	mark    *Mark
	jarOpen bool
}

// look reads mark and open jars. The JVM answers in the order of the requests, so
// a load that was under way is over once the mark is read. A mark without the jar
// is another JVM's: one that hands its system properties to those that it starts.
func (a *agent) look(ctx context.Context) error {
	mark, err := readMark(ctx, a.process)
	if err != nil {
		return err
	}
	if a.jarOpen, err = agentJarOpen(a.process); err != nil {
		return err
	}
	if a.mark = mark; !a.jarOpen {
		a.mark = nil
	}
	return nil
}

// bring makes the agent serve what is desired, and tells whether it was loaded
// for that.
func (a *agent) bring(ctx context.Context, d Desired) (loaded bool, err error) {
	if err := a.look(ctx); err != nil {
		return false, err
	}
	want := runningPairs(d)
	current := a.home.readPairs(a.file)
	if d.Identity == "" && current.Has("identity") { // the JVM's own, whoever gives this order
		want.Set("identity", current.Get("identity"))
	}
	if serves(a.mark, d) && sameContent(current, want) && current.Get("token") == a.mark.Desired {
		return false, checkReload(current, a.mark)
	}
	if err := a.checkPort(d.Port); err != nil {
		return false, err
	}
	noteReloads(want, current, a.mark)
	want.Set("token", newToken(want, time.Now()))
	if err := a.home.writePairs(a.file, want); err != nil {
		return false, err
	}
	if a.mark == nil && !a.jarOpen || a.mark != nil && a.mark.State == AgentStopped {
		err := a.process.LoadAgent(ctx, path.Join(Home, d.Agent), path.Join(Home, a.file))
		if err != nil {
			_ = a.look(ctx) // for the report; the error that counts is known
			return false, err
		}
		loaded = true
	}
	if err := a.await(ctx, want.Get("token")); err != nil {
		return loaded, err
	}
	if err := a.verdict(d); err != nil {
		return loaded, err
	}
	return loaded, checkReload(want, a.mark)
}

// checkPort refuses a port that somebody else listens on, before anything is
// asked of the agent.
func (a *agent) checkPort(port int32) error {
	if a.unknown() || a.mark != nil && a.mark.Port == port {
		return nil // it may well be the agent itself
	}
	ports, err := jvm.ListeningPorts(a.process.PID)
	if err != nil {
		return err
	}
	if slices.Contains(ports, port) {
		return failf(ReasonPortInUse, "Port %d is in use; choose another, or stop what listens there.", port)
	}
	return nil
}

// unknown tells that the agent is there, and not whether and where it serves.
func (a *agent) unknown() bool {
	return a.mark == nil && a.jarOpen || a.mark != nil && a.mark.State == AgentStarting
}

// await polls the mark until it answers the token and is no longer starting.
func (a *agent) await(ctx context.Context, token string) error {
	// For the agent, not for a look: that one is under way when patience ends says
	// nothing about the JVM.
	patience, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	for interval := 5 * time.Millisecond; ; interval = min(2*interval, 100*time.Millisecond) {
		if err := a.look(ctx); err != nil {
			return err
		}
		if a.mark != nil && a.mark.Desired == token && a.mark.State != AgentStarting || a.idle() {
			return nil
		}
		select {
		case <-patience.Done():
			return a.silence()
		case <-time.After(interval):
		}
	}
}

// idle tells whether the agent could not start the thread that would follow what
// is desired: nobody will answer, and another load tries again.
func (a *agent) idle() bool {
	return a.mark != nil && a.mark.State == AgentStopped && a.mark.Reason != ""
}

func (a *agent) silence() error {
	switch {
	case a.mark == nil && !a.jarOpen:
		return failf(ReasonAgentFailed, "The JVM took the agent and did not keep it; see the application's standard error.")
	case a.mark == nil:
		return failf(ReasonAgentNotAnswering, "The agent is in the JVM, but wrote no mark within %s: it may not write the JVM's system properties, or the JVM is starved of CPU or memory.", answerPatience)
	default:
		return failf(ReasonAgentNotAnswering, "The agent is %s and did not answer within %s.", a.mark.State, answerPatience)
	}
}

// verdict turns the agent's answer into the operation's outcome.
func (a *agent) verdict(d Desired) error {
	switch {
	case serves(a.mark, d):
		return nil
	case a.mark.Reason != "":
		return &Error{Reason: a.mark.Reason, Message: a.mark.Message}
	default:
		return failf(ReasonAgentFailed, "The agent is %s, on port %d with the configuration %.12s.", a.mark.State, a.mark.Port, a.mark.ConfigSHA256)
	}
}

// loadWarning tells what a load leaves on the application's standard error.
func loadWarning(p jvm.Process) string {
	if jvm.Major(p.Version) < 21 || p.Flags.AgentLoading == jvm.On {
		return ""
	}
	return "The JVM wrote the four warning lines of JEP 451 to the application's standard error; -XX:+EnableDynamicAgentLoading hides them."
}
