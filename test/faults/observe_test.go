package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
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
	states := func(a v1alpha1.JmxAttachment) bool {
		return a.Spec.Pod.UID == at.Pod && slices.ContainsFunc(a.Status.Processes, func(p v1alpha1.JavaProcess) bool {
			return p.PID == int32(request.Target.PID) && p.StartTime == int64(request.Target.StartTime) &&
				p.Intent != nil && p.Intent.ConfigSHA256 == request.Desired.ConfigSHA256
		})
	}
	var list v1alpha1.JmxAttachmentList
	if err := admin.List(context.Background(), &list, client.InNamespace(w.namespace)); err != nil && !apierrors.IsNotFound(err) { // as long as there are no CRDs, the deleted ones count
		return fmt.Sprintf("cannot list the records: %v", err)
	}
	if slices.ContainsFunc(list.Items, states) {
		return ""
	}
	// The event of a deleted one may come later than the load.
	if err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.deleted, states), nil
	}); err != nil {
		return "the agent is loaded, and no record states the intent"
	}
	return ""
}

// remember keeps the records, which are about to be deleted under an operator that works, and
// what it still writes into them.
func (w *world) remember() {
	w.t.Helper()
	changes, err := admin.Watch(w.t.Context(), &v1alpha1.JmxAttachmentList{}, client.InNamespace(w.namespace)) // begins with those that exist
	w.must(err)
	go func() {
		for change := range changes.ResultChan() {
			if a, ok := change.Object.(*v1alpha1.JmxAttachment); ok {
				w.mu.Lock()
				w.deleted = append(w.deleted, *a)
				w.mu.Unlock()
			}
		}
	}()
}

// breaks notes a broken rule.
func (w *world) breaks(rule string) {
	if rule != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.broken = append(w.broken, rule)
	}
}
