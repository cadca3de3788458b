package helper

import (
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// reloadsBefore is how many reloads the agent had counted when another
// configuration was desired of it. A desired file keeps that for the helper, which
// may be killed while it waits, or asked again.
const reloadsBefore = "reloads.before"

// noteReloads writes into want what the agent's next mark is to be compared with,
// where the same implementation goes from one configuration to another; one that
// has gone there already is compared with what was noted then. An agent that has
// not come to the file that lies there may still stop, or be replaced by one that
// counts from 0: nothing is noted.
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

// checkReload makes sure that an agent which says that it serves another
// configuration than before has also counted it: the metrics that it serves say
// the same. Where previous notes nothing there is nothing to compare: older agents
// count nothing, another implementation counts from 0.
func checkReload(previous pairs, m *helperapi.Mark) error {
	before := countIn(previous, reloadsBefore)
	if before == nil || m.Reloads != nil && *m.Reloads > *before {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent says that it serves the configuration %.12s, but has counted %s reloads, as before.",
		m.ConfigSHA256, previous.Get(reloadsBefore))
}
