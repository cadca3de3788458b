package attach

// checkReload makes sure that an agent which says that it serves another
// configuration than before has also counted it, and nothing that it rejected:
// the metrics that it serves say the same. What a mark does not tell is not
// asked for: older agents have no counts, and another implementation its own.
func checkReload(before, after *Mark) error {
	if before == nil || before.State != AgentRunning || before.Reloads == nil ||
		before.ImplementationSHA256 != after.ImplementationSHA256 || before.ConfigSHA256 == after.ConfigSHA256 {
		return nil
	}
	if count(after.Reloads) > count(before.Reloads) && count(after.ReloadFailures) <= count(before.ReloadFailures) {
		return nil
	}
	return failf(ReasonAgentNotAnswering, "The agent says that it serves the configuration %.12s, but its counts went from %d reloads and %d failures to %d and %d.",
		after.ConfigSHA256, count(before.Reloads), count(before.ReloadFailures), count(after.Reloads), count(after.ReloadFailures))
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
