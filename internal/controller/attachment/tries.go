package attachment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// tries are the tools of a reconcile, and note whether an effect found no capacity, and
// whether another one was tried. They are not safe for concurrent use.
type tries struct {
	helper steps.Helper
	prober probe.Prober
	writer steps.PodWriter

	queued, tried bool
}

// Run implements steps.Helper.
func (t *tries) Run(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	report, err := t.helper.Run(ctx, in, verb, request, blobs...)
	return report, t.note(err)
}

// Open implements steps.Helper.
func (t *tries) Open(ctx context.Context, in transport.Container) error {
	return t.note(t.helper.Open(ctx, in))
}

// Probe implements probe.Prober.
func (t *tries) Probe(ctx context.Context, address string, p *v1alpha1.JavaProcess) error {
	return t.note(t.prober.Probe(ctx, address, p))
}

// Answers implements probe.Prober.
func (t *tries) Answers(ctx context.Context, p *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	notices, err := t.prober.Answers(ctx, p)
	return notices, t.note(err)
}

// PodAnnotations implements steps.PodWriter.
func (t *tries) PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error {
	return t.note(t.writer.PodAnnotations(ctx, pod, annotations))
}

func (t *tries) note(err error) error {
	if known, ok := errors.AsType[*transport.Error](err); ok && known.Reason == v1alpha1.ReasonQueued {
		t.queued = true
	} else {
		t.tried = true
	}
	return err
}
