// Package exporter reconciles what an exporter owns as a whole: the JmxAttachments of its
// pods, the Service and EndpointSlices, and the summary in its status. It observes the
// fleet, decides what to write, acts, and concludes with the status.
package exporter

import (
	"sync"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Reconciler reconciles PrometheusJmxExporters. All fields but Transport are required.
type Reconciler struct {
	Reader client.Reader
	// Live reads from the API server, past the cache.
	Live   client.Reader
	Writer *records.Writer
	Source *source.Source
	// Artifacts are the files that the pods should run; a different agent is a different
	// revision.
	Artifacts *steps.Artifacts
	// Transport is the transport that the operator may use; both if it is empty or Auto.
	Transport v1alpha1.Transport
	// Logs reads the logs of pods that do not run, for exporters that ask for them.
	Logs     *podlog.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	written  written
	kept     keepings
	progress progress
	stated   stated
	// reported are the messages of exporters that are held, and whose status cannot have them.
	reported sync.Map
}
