package v1alpha1

// Reasons of ScrapeIncomplete, which is informational.
const (
	// ReasonMBeanUnreadable surfaces on ScrapeIncomplete when MBeans throw when asked for
	// their attributes.
	ReasonMBeanUnreadable = "MBeanUnreadable"
	// ReasonUndeclaredAttribute surfaces on ScrapeIncomplete when MBeans return attributes
	// that they do not declare.
	ReasonUndeclaredAttribute = "UndeclaredAttribute"
	// ReasonInvalidSample surfaces on ScrapeIncomplete when samples cannot be made.
	ReasonInvalidSample = "InvalidSample"
	// ReasonInvalidValue surfaces on ScrapeIncomplete when a COUNTER has a negative value.
	ReasonInvalidValue = "InvalidValue"
	// ReasonDuplicateSample surfaces on ScrapeIncomplete when samples have the same name
	// and labels.
	ReasonDuplicateSample = "DuplicateSample"
	// ReasonConflictingType surfaces on ScrapeIncomplete when metrics of different types
	// have the same name.
	ReasonConflictingType = "ConflictingType"
	// ReasonReservedName surfaces on ScrapeIncomplete when a rule gives a metric the name
	// of one of the agent's own.
	ReasonReservedName = "ReservedName"
	// ReasonMetricUnreadable surfaces on ScrapeIncomplete when one of the agent's own
	// metrics cannot be read.
	ReasonMetricUnreadable = "MetricUnreadable"
	// ReasonMBeansSkipped surfaces on ScrapeIncomplete when something is left out for
	// a reason that the operator does not know, such as a newer agent's.
	ReasonMBeansSkipped = "MBeansSkipped"
)

// Reasons of ScrapeExpensive, which is informational.
const (
	// ReasonCPU surfaces on ScrapeExpensive when a collection takes much CPU time.
	ReasonCPU = "CPU"
	// ReasonDuration surfaces on ScrapeExpensive when a collection takes long.
	ReasonDuration = "Duration"
	// ReasonAllocation surfaces on ScrapeExpensive when a collection allocates much of the
	// heap.
	ReasonAllocation = "Allocation"
	// ReasonHighCost surfaces on ScrapeExpensive when a collection takes much of something
	// that the operator does not know, such as a newer agent's reason.
	ReasonHighCost = "HighCost"
)
