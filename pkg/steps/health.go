package steps

import (
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Health is the result of an endpoint's health check and of the examination after it.
type Health struct {
	// CheckedFrom is from where the endpoint is checked from now on; empty for as before.
	CheckedFrom v1alpha1.CheckedFrom
	// Finding is the result of the examination; empty if the endpoint answered.
	Finding Finding
	// Foreign reports whether another process answers at the endpoint.
	Foreign bool
	// Misses is the number of consecutive health checks without an answer.
	Misses int32
	// Served is how long the endpoint was seen to answer before.
	Served time.Duration
	// Notices are those of the agent; nil for as before.
	Notices *helperapi.Notices
}

// silentMisses is the number of consecutive misses after which a JVM with a silent
// endpoint regresses.
const silentMisses = 3

// silent reports whether an endpoint has been silent for long enough to regress.
func (h Health) silent() bool { return h.Finding == FindingSilent && h.Misses >= silentMisses }

// Finding is the result of examining a process whose endpoint did not answer.
type Finding string

const (
	// FindingUnclear means that nothing can be said now.
	FindingUnclear Finding = "Unclear"
	// FindingServing means that the process exists, and its endpoint answers inside the
	// pod.
	FindingServing Finding = "Serving"
	// FindingSilent means that process and agent exist, but the endpoint does not answer
	// inside the pod either.
	FindingSilent Finding = "Silent"
	// FindingStopped means that the process exists, but no agent of the operator serves
	// in it.
	FindingStopped Finding = "Stopped"
	// FindingGone means that the process is gone.
	FindingGone Finding = "Gone"
)
