package helperapi

import (
	"errors"
	"math"
	"net/url"
)

// AgentState is the state in a Mark.
type AgentState string

const (
	// AgentStarting is set before the implementation starts.
	AgentStarting AgentState = "starting"
	// AgentRunning means that the port is served with the reported configuration.
	AgentRunning AgentState = "running"
	// AgentFailed means that nothing is served; Reason and Message state why.
	AgentFailed AgentState = "failed"
	// AgentStopped means that the agent stopped on request.
	AgentStopped AgentState = "stopped"
)

// Mark is the state that the agent reports in a system property of the JVM. See
// docs/agent-protocol.md.
type Mark struct {
	Protocol int        `json:"protocol"`
	State    AgentState `json:"state"`
	// Agent is the version of the implementation.
	Agent string `json:"agent,omitempty"`
	// Port is the port served; 0 if none.
	Port int32 `json:"port,omitempty"`
	// ConfigSHA256 is the digest of the configuration in use, as read by the agent.
	ConfigSHA256 string `json:"configSHA256,omitempty"`
	// SecuritySHA256 is the digest of the endpoint's security configuration in use; empty
	// for plain HTTP.
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// ImplementationSHA256 is the digest of the running implementation's jar.
	ImplementationSHA256 string `json:"implementationSHA256,omitempty"`
	// Desired is the token of the desired file that this mark answers.
	Desired string `json:"desired,omitempty"`
	// Loads counts the calls of agentmain in this JVM.
	Loads int `json:"loads,omitempty"`
	// Reloads and ReloadFailures count, for the running implementation, the
	// configurations that took effect after the first, and those that were rejected:
	// jmx_config_reload_success_total and -failure_total in its metrics. They are nil if
	// the agent does not report them.
	Reloads        *int64 `json:"reloads,omitempty"`
	ReloadFailures *int64 `json:"reloadFailures,omitempty"`
	// Judgement is that of a candidate; nil if none was asked for, or by an older agent.
	Judgement *Judgement `json:"-"`
	Notices
	// Reason and Message state why the desired state was not reached. With AgentRunning,
	// the previous configuration is served.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ParseMark parses a mark, as docs/agent-protocol.md describes it. It ignores unknown
// keys; invalid numbers and ports become 0, and invalid counts nil.
func ParseMark(value string) (*Mark, error) {
	pairs, err := url.ParseQuery(value)
	if err != nil {
		return nil, err
	}
	port := number(pairs, "port")
	if port < 0 || port > math.MaxUint16 {
		port = 0
	}
	mark := &Mark{
		Protocol:             int(number(pairs, "protocol")),
		State:                AgentState(pairs.Get("state")),
		Agent:                Bounded(pairs.Get("agent")),
		Port:                 port,
		ConfigSHA256:         Bounded(pairs.Get("config.sha256")),
		SecuritySHA256:       Bounded(pairs.Get("security.sha256")),
		ImplementationSHA256: Bounded(pairs.Get("implementation.sha256")),
		Desired:              Bounded(pairs.Get("token")),
		Loads:                int(number(pairs, "loads")),
		Reloads:              Count(pairs, "reloads"),
		ReloadFailures:       Count(pairs, "reload.failures"),
		Judgement:            judgementIn(pairs),
		Notices:              noticesIn(pairs),
		Message:              Bounded(pairs.Get("message")),
	}
	if reason := pairs.Get("reason"); reason != "" {
		mark.Reason = agentReason(reason)
	}
	switch mark.State {
	case AgentStarting, AgentRunning, AgentFailed, AgentStopped:
	default:
		return nil, errors.New("the mark has no state")
	}
	return mark, nil
}
