//go:build linux

package helper

import (
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// noteReloads records in want the count that the agent's next mark is compared with, if
// the same implementation changes from one configuration to another; if it already has,
// the count recorded then is kept. It records nothing for an agent that has not yet
// answered the current desired file: it may still stop, or be replaced by one that counts
// from 0.
func noteReloads(want, current pairs, m *helperapi.Mark) {
	switch {
	case m == nil || m.State != helperapi.AgentRunning || m.Reloads == nil || m.Desired != current.Get("token") ||
		m.ImplementationSHA256 != want.Get("implementation.sha256"):
	case m.ConfigSHA256 != want.Get("config.sha256"):
		want.Set(reloadsBefore, strconv.FormatInt(*m.Reloads, 10))
	case sameContent(current, want) && current.Has(reloadsBefore):
		want.Set(reloadsBefore, current.Get(reloadsBefore))
	}
}

// checkReload verifies that an agent that reports another configuration than before has
// also counted the reload, as its metrics do. Without a count in previous there is
// nothing to compare: older agents do not count, and another implementation counts from
// 0.
func checkReload(previous pairs, m *helperapi.Mark) error {
	before := helperapi.Count(previous, reloadsBefore)
	if before == nil || m.Reloads != nil && *m.Reloads > *before {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent says that it serves the configuration %.12s, but has counted %s reloads, as before.",
		m.ConfigSHA256, previous.Get(reloadsBefore))
}
