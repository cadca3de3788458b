//go:build linux

// Package helper implements the operations of pkg/helperapi on the Java processes of its
// own container, of a target container, or of the host.
package helper

import (
	"context"
	"io"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Helper performs the operations. It is safe for concurrent use, also by several
// processes: operations that must not run concurrently hold a lock in the agent
// directory.
type Helper struct {
	// Version is reported in every answer.
	Version string
	// Beside are the files that can be staged without being sent.
	Beside Beside
	// Jars are the jars that may be staged and loaded.
	Jars Jars
	// Target is the only container that a child of a node agent serves: it identifies the
	// container's processes by their control groups, and refuses requests about others. It
	// is nil in a container, and on a host.
	Target *helperapi.NodeTarget
}

// Do performs one operation and reports its result, or the failure in Report.Error. blobs
// are the contents of req.Files in order, except those beside the helper; only VerbStage
// reads them. Do returns within Timeout, except for reading blobs, which takes as long as
// the reader does.
func (h Helper) Do(ctx context.Context, verb helperapi.Verb, req helperapi.Request, blobs io.Reader) helperapi.Report {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	report := helperapi.Report{HelperVersion: h.Version, FromNode: h.Target != nil}
	if err := h.perform(ctx, verb, req, blobs, &report); err != nil {
		report.Error = typed(err)
	}
	return report
}

func (h Helper) perform(ctx context.Context, verb helperapi.Verb, req helperapi.Request, blobs io.Reader, report *helperapi.Report) error {
	req, err := h.checked(req)
	if err != nil {
		return err
	}
	return asOwner(req, func() error { return h.do(ctx, verb, req, blobs, report) })
}

func (h Helper) do(ctx context.Context, verb helperapi.Verb, req helperapi.Request, blobs io.Reader, report *helperapi.Report) error {
	switch verb {
	case helperapi.VerbInspect:
		return inspect(ctx, req, report)
	case helperapi.VerbStage:
		return stage(req, h.Beside, h.Jars, blobs, report)
	case helperapi.VerbLoad:
		return load(ctx, req, h.Jars, report)
	case helperapi.VerbCheck:
		return check(ctx, req, report)
	case helperapi.VerbStatus:
		return status(ctx, req, report)
	case helperapi.VerbUnload:
		return unload(ctx, req, report)
	case helperapi.VerbProbe:
		return probe(ctx, req)
	default:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "There is no operation %q.", verb)
	}
}

// checked returns a request whose container this helper may serve.
func (h Helper) checked(req helperapi.Request) (helperapi.Request, error) {
	if h.Target != nil {
		return bind(req, *h.Target)
	}
	if container(req).OnNode() { // only bind makes such a one
		return req, helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not a container's ID.", helperapi.Bounded(req.ContainerID))
	}
	return req, checkPod(req.PodUID)
}
