package faults

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// observe checks each operation that an operator asks for.
func (w *world) observe(at fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
	w.mu.Lock()
	w.calls = append(w.calls, string(verb))
	w.mu.Unlock()
	if verb == helperapi.VerbLoad {
		w.breaks(w.withoutIntent(at, request))
		if request.Target.PID != fakenode.JavaPID {
			w.breaks("the agent is to be loaded into a JVM that refuses attachers")
		}
	}
}

// inspect checks the files that a command leaves, however it ended.
func (w *world) inspect(c *fakenode.Container) {
	if partial := c.Partial(); len(partial) > 0 {
		w.breaks(fmt.Sprintf("files are incomplete: %v", partial))
	}
}

// withoutIntent returns what is wrong with a load; empty if a record states the intent.
func (w *world) withoutIntent(at fakenode.Place, request helperapi.Request) string {
	var list v1alpha1.JmxAttachmentList
	if err := admin.List(context.Background(), &list, client.InNamespace(w.namespace)); err != nil && !apierrors.IsNotFound(err) { // as long as there are no CRDs, the deleted ones count
		return fmt.Sprintf("cannot list the records: %v", err)
	}
	w.mu.Lock()
	records := append(list.Items, w.deleted...)
	w.mu.Unlock()
	for _, a := range records {
		for _, p := range a.Status.Processes {
			same := a.Spec.Pod.UID == at.Pod && p.PID == int32(request.Target.PID) && p.StartTime == int64(request.Target.StartTime)
			if same && p.Intent != nil && p.Intent.ConfigSHA256 == request.Desired.ConfigSHA256 {
				return ""
			}
		}
	}
	return "the agent is loaded, and no record states the intent"
}

// remember keeps the records, which are about to be deleted under an operator that works.
func (w *world) remember() {
	w.t.Helper()
	var list v1alpha1.JmxAttachmentList
	w.must(admin.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted = append(w.deleted, list.Items...)
}

// breaks notes a broken rule.
func (w *world) breaks(rule string) {
	if rule != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.broken = append(w.broken, rule)
	}
}
