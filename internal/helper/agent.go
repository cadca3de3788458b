//go:build linux

package helper

import (
	"context"
	"path"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// answerTimeout is how long an agent may take to answer a changed desired file, which it
// checks every half second.
const answerTimeout = 5 * time.Second

// initialPollInterval is how long an answer is waited for before it is looked for again. An agent
// that has just been loaded takes longer to read its configuration and to collect once, and each look
// costs the JVM CPU, too.
const initialPollInterval = 20 * time.Millisecond

// agentIn is the state of our agent in one JVM, as visible from outside.
type agentIn struct {
	process jvm.Process
	dir     *directory.Directory
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
func (a *agentIn) look(ctx context.Context) error {
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

// unknown reports whether the agent is present, but not known to serve or where.
func (a *agentIn) unknown() bool {
	return a.mark == nil && a.jarOpen || a.says(helperapi.AgentStarting)
}

// says reports whether there is a mark with the given state.
func (a *agentIn) says(s helperapi.AgentState) bool { return a.mark != nil && a.mark.State == s }

// await polls the mark until it answers the token and is no longer starting.
func (a *agentIn) await(ctx context.Context, token string) error {
	// The timeout limits the agent's answer, not a look: a look in progress when it
	// expires says nothing about the JVM.
	timeout, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for interval := initialPollInterval; ; interval = min(2*interval, 100*time.Millisecond) {
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

// desire writes a desired file with a token of its own, and waits until the agent answers
// it.
func (a *agentIn) desire(ctx context.Context, want pairs) (token string, err error) {
	token = newToken(want, time.Now())
	want.Set("token", token)
	if err := a.dir.WriteDesired(a.file, want); err != nil {
		return "", err
	}
	return token, a.await(ctx, token)
}

// idle reports whether the agent failed to start the thread that watches the desired
// file: it will not answer, and another load retries.
func (a *agentIn) idle() bool { return a.says(helperapi.AgentStopped) && a.mark.Reason != "" }

func (a *agentIn) silence() error {
	switch {
	case a.mark == nil && !a.jarOpen && !a.dir.InPlace(a.process):
		return helperapi.Errorf(helperapi.ReasonForeignJar, "%s was exchanged while the JVM loaded the agent from there. Find out who did it and what the JVM loaded, then restart the container.", helperapi.AgentDirectory)
	case a.mark == nil && !a.jarOpen:
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent was loaded but is no longer present; see the application's standard error.")
	case a.mark == nil:
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is in the JVM, but wrote no mark within %s: it may not write the JVM's system properties, or the JVM is starved of CPU or memory. Grant it PropertyPermission \"*\", \"read,write\", or more CPU or memory.", answerTimeout)
	default:
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is %s and did not answer within %s.", a.mark.State, answerTimeout)
	}
}
