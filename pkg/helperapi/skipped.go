package helperapi

// Skipped summarizes what a collection left out because it cannot be served.
type Skipped struct {
	// Count is the number of MBeans, attributes and samples.
	Count int64 `json:"count"`
	// Domain and Reason are those of most of them. The application chooses the domain of
	// its MBeans; the reasons are the agent's, see docs/agent.md.
	Domain string `json:"domain,omitempty"`
	Reason string `json:"reason,omitempty"`
}
