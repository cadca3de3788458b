package attach

import "strconv"

// What the agent had counted when another configuration was desired of it. A
// desired file keeps that for the helper, which may be killed while it waits, or
// asked again.
const (
	reloadsBefore  = "reloads.before"
	failuresBefore = "reload.failures.before"
)

// noteCounts writes into want what the agent's next mark is to be compared with,
// where the same implementation goes from one configuration to another. One that
// has gone there already is compared with what was noted when it was told to.
func noteCounts(want, current pairs, m *Mark) {
	switch {
	case m == nil || m.State != AgentRunning || m.Reloads == nil || m.ImplementationSHA256 != want.Get("implementation.sha256"):
	case m.ConfigSHA256 != want.Get("config.sha256"):
		want.Set(reloadsBefore, strconv.FormatInt(count(m.Reloads), 10))
		want.Set(failuresBefore, strconv.FormatInt(count(m.ReloadFailures), 10))
	case m.ConfigSHA256 == current.Get("config.sha256") && m.ImplementationSHA256 == current.Get("implementation.sha256"):
		for _, key := range []string{reloadsBefore, failuresBefore} {
			if current.Has(key) {
				want.Set(key, current.Get(key))
			}
		}
	}
}

// checkReload makes sure that an agent which says that it serves another
// configuration than before has also counted it, and nothing that it rejected:
// the metrics that it serves say the same. Where told notes no counts there is
// nothing to compare: older agents have none, another implementation has its own.
func checkReload(told pairs, m *Mark) error {
	reloads, failures := countIn(told, reloadsBefore), countIn(told, failuresBefore)
	if reloads == nil || failures == nil || count(m.Reloads) > *reloads && count(m.ReloadFailures) <= *failures {
		return nil
	}
	return failf(ReasonAgentNotAnswering, "The agent says that it serves the configuration %.12s, but its counts went from %d reloads and %d failures to %d and %d.",
		m.ConfigSHA256, *reloads, *failures, count(m.Reloads), count(m.ReloadFailures))
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
