// Package transport runs the helper, cmd/jmx-attach, in a container of a pod
// and brings back its report.
package transport

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// Container is where the helper runs: a container of exactly this pod.
type Container struct {
	Namespace string
	Pod       string
	PodUID    types.UID
	Name      string
	// Node is the node that the pod runs on; execs are bounded for each.
	Node string
}

// Helper runs the helper in a container. A failure is an *Error; when the helper
// itself reported it, the Report is there too. Implementations are safe for
// concurrent use, and each Run ends in bounded time.
type Helper interface {
	Run(ctx context.Context, in Container, verb attach.Verb, request attach.Request, blobs ...Blob) (*attach.Report, error)
}

// HelperFunc is a function that is a Helper.
type HelperFunc func(ctx context.Context, in Container, verb attach.Verb, request attach.Request, blobs ...Blob) (*attach.Report, error)

// Run calls f.
func (f HelperFunc) Run(ctx context.Context, in Container, verb attach.Verb, request attach.Request, blobs ...Blob) (*attach.Report, error) {
	return f(ctx, in, verb, request, blobs...)
}

// Error says why the helper did not do what it was asked to.
type Error struct {
	// Reason is a condition's reason of apis/v1alpha1.
	Reason string
	// Message is one sentence that does not change from one try to the next.
	Message string
	// Err is the cause; nil when the helper reported the failure.
	Err error
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
