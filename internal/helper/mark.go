//go:build linux

package helper

import (
	"context"
	"errors"
	"math"
	"net/url"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// markProperty is the system property that contains the mark.
const markProperty = "com.banzaicloud.jmxexporter"

// readMark reads our agent's mark. It returns nil if there is none, or none that is
// valid.
func readMark(ctx context.Context, p jvm.Process) (*helperapi.Mark, error) {
	value, found, err := p.Property(ctx, markProperty)
	if err != nil || !found {
		return nil, err
	}
	mark, _ := parseMark(value) // an invalid value is not our mark
	return mark, nil
}

// parseMark parses the value of markProperty. It ignores unknown keys; invalid numbers
// and ports become 0, and invalid counts nil.
func parseMark(value string) (*helperapi.Mark, error) {
	pairs, err := url.ParseQuery(value)
	if err != nil {
		return nil, err
	}
	number := func(key string, bits int) int64 {
		n, err := strconv.ParseInt(pairs.Get(key), 10, bits)
		if err != nil {
			return 0
		}
		return n
	}
	port := number("port", 32)
	if port < 0 || port > math.MaxUint16 {
		port = 0
	}
	mark := &helperapi.Mark{
		Protocol:             int(number("protocol", 32)),
		State:                helperapi.AgentState(pairs.Get("state")),
		Agent:                bounded(pairs.Get("agent")),
		Port:                 int32(port),
		ConfigSHA256:         bounded(pairs.Get("config.sha256")),
		SecuritySHA256:       bounded(pairs.Get("security.sha256")),
		ImplementationSHA256: bounded(pairs.Get("implementation.sha256")),
		Desired:              bounded(pairs.Get("token")),
		Loads:                int(number("loads", 32)),
		Reloads:              countIn(pairs, "reloads"),
		ReloadFailures:       countIn(pairs, "reload.failures"),
		Skipped:              skippedIn(pairs),
		Message:              bounded(pairs.Get("message")),
	}
	if reason := pairs.Get("reason"); reason != "" {
		mark.Reason = agentReason(reason)
	}
	switch mark.State {
	case helperapi.AgentStarting, helperapi.AgentRunning, helperapi.AgentFailed, helperapi.AgentStopped:
	default:
		return nil, errors.New("the mark has no state")
	}
	return mark, nil
}

// countIn returns a count in pairs; nil if there is none.
func countIn(p pairs, key string) *int64 {
	n, err := strconv.ParseInt(p.Get(key), 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// skippedIn returns what the agent reports as left out in pairs; nil if that is nothing.
func skippedIn(p pairs) *helperapi.Skipped {
	count := countIn(p, "skipped")
	if count == nil || *count == 0 {
		return nil
	}
	return &helperapi.Skipped{Count: *count, Domain: bounded(p.Get("skipped.domain")), Reason: bounded(p.Get("skipped.reason"))}
}

// agentReason returns a reason that an agent may report; others, such as a newer agent's,
// become ReasonAgentFailed and keep their message.
func agentReason(reason string) helperapi.Reason {
	switch r := helperapi.Reason(reason); r {
	case helperapi.ReasonPortInUse, helperapi.ReasonConfigRejected, helperapi.ReasonRuleTooExpensive, helperapi.ReasonCollectionTooLarge, helperapi.ReasonMissingModule, helperapi.ReasonSecurityRejected, helperapi.ReasonAgentFailed:
		return r
	default:
		return helperapi.ReasonAgentFailed
	}
}
