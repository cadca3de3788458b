//go:build linux

package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// pairs are the contents of a desired file. See docs/agent-protocol.md.
type pairs = url.Values

// reloadsBefore is the agent's reload count when another configuration was requested. It
// is kept in the desired file, because the helper may be killed while it waits, or called
// again.
const reloadsBefore = "reloads.before"

// runningPairs returns the desired file's contents to run d.
func runningPairs(d helperapi.Desired) pairs {
	running := pairs{
		"protocol":              {"1"},
		"state":                 {string(helperapi.AgentRunning)},
		"implementation":        {path.Join(helperapi.AgentDirectory, d.Implementation)},
		"implementation.sha256": {d.ImplementationSHA256},
		"config":                {path.Join(helperapi.AgentDirectory, d.Config)},
		"config.sha256":         {d.ConfigSHA256},
		"port":                  {strconv.Itoa(int(d.Port))},
	}
	if d.Identity != "" {
		running.Set("identity", d.Identity)
	}
	if d.Security != "" {
		running.Set("security", path.Join(helperapi.AgentDirectory, d.Security))
		running.Set("security.sha256", d.SecuritySHA256)
	}
	return running
}

// stoppedPairs returns the desired file's contents to stop the running agent.
func stoppedPairs(current pairs) pairs {
	stopped := pairs{}
	maps.Copy(stopped, current)
	withdrawCandidate(stopped)
	stopped.Set("protocol", "1")
	stopped.Set("state", string(helperapi.AgentStopped))
	return stopped
}

// The keys by which a desired file asks for a judgement.
const (
	candidate       = "candidate"
	candidateSHA256 = "candidate.sha256"
)

// askedPairs returns a desired file's contents to have a configuration judged.
func askedPairs(current pairs, config helperapi.File) pairs {
	asked := maps.Clone(current)
	asked.Set(candidate, path.Join(helperapi.AgentDirectory, config.Name))
	asked.Set(candidateSHA256, config.SHA256)
	return asked
}

// withdrawCandidate removes the request for a judgement, which a helper that was killed
// has left, and reports whether there was one.
func withdrawCandidate(p pairs) bool {
	before := len(p)
	p.Del(candidate)
	p.Del(candidateSHA256)
	return len(p) < before
}

// newToken returns a token that is unique to one write of a desired file, so that the
// mark's answer to it cannot be confused with one to an earlier write of the same
// content: a port that was in use then may be free now.
func newToken(p pairs, now time.Time) string {
	sum := sha256.Sum256([]byte(p.Encode()))
	return hex.EncodeToString(sum[:6]) + "-" + strconv.FormatInt(now.UnixNano(), 36)
}

// sameContent reports whether two desired files request the same of the agent.
func sameContent(a, b pairs) bool {
	without := func(p pairs) pairs {
		p = maps.Clone(p)
		delete(p, "token")
		delete(p, reloadsBefore)
		return p
	}
	return maps.EqualFunc(without(a), without(b), slices.Equal)
}

// serves reports whether a mark states that the agent runs as desired.
func serves(m *helperapi.Mark, d helperapi.Desired) bool {
	return m != nil && m.State == helperapi.AgentRunning && m.Reason == "" && m.Port == d.Port &&
		m.ConfigSHA256 == d.ConfigSHA256 && m.ImplementationSHA256 == d.ImplementationSHA256 &&
		m.SecuritySHA256 == d.SecuritySHA256
}
