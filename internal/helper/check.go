//go:build linux

package helper

import (
	"context"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// check has the agent in one JVM judge a configuration, while it serves what it did. It
// takes the application another collection.
func check(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	if err := checkCandidate(req.Candidate); err != nil {
		return err
	}
	if err := requireAgent(req); err != nil {
		return err
	}
	p, err := lookup(req)
	if err != nil {
		return err
	}
	report.Processes = []helperapi.Process{describe(p)}
	process := &report.Processes[0]
	dir, turn, err := lockStaged(ctx, req, p)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer turn.Close()
	if !dir.Has(*req.Candidate) {
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is missing or not what was staged.", req.Candidate.Name)
	}
	a := agentIn{process: p, dir: dir, file: directory.DesiredFile(p)}
	report.Judgement, err = a.judge(ctx, req)
	process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
	return err
}

// requireAgent refuses a request for a judgement by a JVM without our agent.
func requireAgent(req helperapi.Request) error {
	present, err := agentPresent(req)
	if err == nil && !present {
		return helperapi.Errorf(helperapi.ReasonAgentFailed, "The JVM has no agent, which alone can judge a configuration.")
	}
	return err
}

func checkCandidate(config *helperapi.File) error {
	if config == nil || !helperapi.IsNamed(config.Name, "config-", ".yaml") {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "No configuration is to be judged.")
	}
	return directory.CheckFile(*config)
}

// judge asks the agent for its judgement of a configuration. The desired file asks for it
// for as long as the agent takes to answer. If this helper is killed meanwhile, the agent
// judges nothing again, and the next helper removes the request.
func (a *agentIn) judge(ctx context.Context, req helperapi.Request) (judgement *helperapi.Judgement, err error) {
	// Unlike another configuration, a candidate is never what makes scrapes smaller.
	if err := checkMemory(req, a.process.PID, req.MemoryHeadroom/4, "A judgement"); err != nil {
		return nil, err
	}
	if err := a.openSocket(ctx); err != nil {
		return nil, err
	}
	if err := checkRoom(ctx, a.process); err != nil {
		return nil, err
	}
	if err := a.look(ctx); err != nil {
		return nil, err
	}
	current := a.dir.ReadDesired(a.file)
	withdrawCandidate(current)
	if err := a.settled(current); err != nil {
		return nil, err
	}
	defer func() {
		if _, failed := a.desire(ctx, current); err == nil {
			err = failed
		}
	}()
	token, err := a.desire(ctx, askedPairs(current, *req.Candidate))
	if err != nil {
		return nil, err
	}
	return judgementIn(a.mark, token)
}

// judgementIn returns the judgement that answers a desired file.
func judgementIn(m *helperapi.Mark, token string) (*helperapi.Judgement, error) {
	switch {
	case m.Judgement != nil && m.Judgement.Token == token:
		return m.Judgement, nil
	case m.State != helperapi.AgentRunning: // otherwise the reason is about what it serves
		return nil, &helperapi.Error{Reason: m.Reason, Message: m.Message}
	default:
		return nil, helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent in the JVM (version %s) is older than this check, and judges no configuration that it does not serve.", m.Agent)
	}
}

// settled refuses an agent that does not serve what its desired file says. It would try
// that again when the file is written again, and what is served must not change.
func (a *agentIn) settled(current pairs) error {
	m := a.mark
	if m == nil {
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is in the JVM, but does not answer.")
	}
	for key, served := range map[string]string{
		"token": m.Desired, "state": string(m.State), "implementation.sha256": m.ImplementationSHA256,
		"config.sha256": m.ConfigSHA256, "security.sha256": m.SecuritySHA256, "port": strconv.Itoa(int(m.Port)),
	} {
		if current.Get(key) != served || m.State != helperapi.AgentRunning {
			return helperapi.Errorf(helperapi.ReasonAgentFailed, "The agent is %s and does not serve what it last was to serve: it judges nothing until it does. %s", m.State, m.Message)
		}
	}
	return checkReload(current, m)
}
