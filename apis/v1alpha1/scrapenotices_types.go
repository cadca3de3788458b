package v1alpha1

// ScrapeNotices is what the agent in a process reports about its last collections. It
// changes nothing: the endpoint is served.
type ScrapeNotices struct {
	// incomplete is what the metrics lack; absent if they are complete, as far as known.
	// +optional
	Incomplete *IncompleteScrape `json:"incomplete,omitempty"`
	// expensive is what makes a collection expensive; absent if it is not, as far as known.
	// +optional
	Expensive *ExpensiveScrape `json:"expensive,omitempty"`
}

// IncompleteScrape is what the metrics of a process lack: MBeans, attributes or samples
// that cannot be served.
type IncompleteScrape struct {
	// reason is why most of them are missing.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// domain is the domain of the MBeans of which most is missing; absent if unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Domain string `json:"domain,omitempty"`
}

// ExpensiveScrape is what makes a collection in a process expensive.
type ExpensiveScrape struct {
	// reason is what it takes too much of.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// rule is the number of the rule in the configuration that costs most, starting at
	// 1; absent if the configuration has no rules.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rule int32 `json:"rule,omitempty"`
	// includeObjectNames are patterns for the configuration that leave out only MBeans
	// that yield no series; absent if all yield some, or if it takes too many patterns.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=1024
	IncludeObjectNames []string `json:"includeObjectNames,omitempty"`
}
