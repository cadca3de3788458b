package operator

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

var brewing = statemachine.Vocabulary{
	Plan: statemachine.MustPlan("Ordered",
		[]statemachine.Stage{{Phase: "Mashed", Transition: "Mash"}, {Phase: "Bottled", Transition: "Bottle"}},
		statemachine.WayBack{Name: "Spill", To: "Ordered"}),
	KindOf: func(reason string) statemachine.Kind {
		return map[string]statemachine.Kind{
			"Slow": statemachine.Awaiting, "Cold": statemachine.Failed, "Sour": statemachine.Refused, "Cloudy": statemachine.Broken,
		}[reason]
	},
	Held: map[statemachine.Phase]statemachine.Held{"Mashed": {Reason: "IsMashed"}, "Bottled": {Reason: "IsBottled"}},
}

// pass is a reconcile of the world's batch; why has why a phase does not hold.
func (w *world) pass(why map[statemachine.Phase]*statemachine.Outcome) *Pass[*world] {
	step := func(phase statemachine.Phase) statemachine.Step[*world] {
		return statemachine.Observe(phase, func(*world) *statemachine.Outcome { return why[phase] })
	}
	return &Pass[*world]{
		Vocabulary: &brewing, Status: w.writer().StatusOf("brewer/status", w.batch), Record: &w.batch.Status.Record,
		Observed: func() { w.batch.Status.Liters = 5 },
		Steps:    []statemachine.Step[*world]{step("Mashed"), step("Bottled")}, Key: "generation 3", Clock: w.clock,
	}
}

// What a reconcile returns, and what a person reads, for each kind of outcome.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		after  time.Duration
		status metav1.ConditionStatus
	}{
		"Slow":   {statemachine.MaxBackoff, metav1.ConditionUnknown},
		"Cold":   {time.Second, metav1.ConditionFalse},
		"Sour":   {0, metav1.ConditionFalse},
		"Cloudy": {statemachine.MaxBackoff, metav1.ConditionFalse},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			why := map[statemachine.Phase]*statemachine.Outcome{"Bottled": brewing.Outcome(reason, "It is so.", errors.New("no fire"))}
			result, err := w.pass(why).Reconcile(t.Context(), w, nil)
			// An API keeps whole seconds, and a backoff has jitter.
			if err != nil || result.RequeueAfter < tc.after || result.RequeueAfter > tc.after+2*time.Second {
				t.Errorf("got %+v, %v; want about %s", result, err, tc.after)
			}
			ready := meta.FindStatusCondition(w.batch.Status.Conditions, statemachine.Ready)
			if ready == nil || ready.Status != tc.status || ready.Reason != reason || ready.Message != "It is so." || ready.ObservedGeneration != 3 {
				t.Errorf("Ready is %+v", ready)
			}
			if s := w.batch.Status; s.Phase != "Mashed" || s.Reason != reason || s.Attempt.LastError != "no fire" || s.ObservedGeneration != 3 || s.Liters != 5 {
				t.Errorf("the status is %+v", s)
			}
		})
	}
}

// An object that is as it was is not written, and its steps are not tried again too soon.
func TestReconcileAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		if result, err := w.pass(nil).Reconcile(t.Context(), w, nil); err != nil || result != (ctrl.Result{}) {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	if diff := cmp.Diff([]string{"status"}, w.log); diff != "" || w.batch.Status.Phase != "Bottled" {
		t.Errorf("in phase %s, writes (-want +got):\n%s", w.batch.Status.Phase, diff)
	}
}

// A cause takes the record back first, and is what the record says if the way ends there.
func TestReconcileBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.batch.Status.Phase = "Bottled"
	why := map[statemachine.Phase]*statemachine.Outcome{"Mashed": brewing.Outcome("Slow", "It is mashed again.", nil)}
	if _, err := w.pass(why).Reconcile(t.Context(), w, &statemachine.Cause{Back: "Spill", Reason: "Cold", Message: "It was spilled."}); err != nil {
		t.Fatal(err)
	}
	if s := w.batch.Status; s.Phase != "Ordered" || s.Reason != "Slow" {
		t.Errorf("the record is %+v", s.State)
	}
	if _, err := w.pass(nil).Reconcile(t.Context(), w, &statemachine.Cause{Back: "Evaporate"}); err == nil {
		t.Error("an unknown way back is taken")
	}
}

// A write to an object that is gone, or that somebody else wrote to, is followed by an event; any
// other error is the workqueue's to retry.
func TestReconcileErrors(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Group: breweryVersion.Group, Resource: "batches"}
	for name, tc := range map[string]struct {
		err    error
		silent bool
	}{
		"it is gone":                 {apierrors.NewNotFound(of, "ale"), true},
		"it was written to":          {apierrors.NewConflict(of, "ale", errors.New("the object has been modified")), true},
		"the API server fails":       {apierrors.NewInternalError(errors.New("etcd is away")), false},
		"the API server rejects it":  {apierrors.NewForbidden(of, "ale", errors.New("quota")), false},
		"the kind is not served now": {apierrors.NewGenericServerResponse(404, "patch", of, "ale", "404 page not found", 0, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.err = tc.err
			result, err := w.pass(nil).Reconcile(t.Context(), w, nil)
			if (err == nil) != tc.silent || result.RequeueAfter != 0 {
				t.Errorf("got %+v, %v", result, err)
			}
			w = newWorld(t)
			w.err = tc.err
			if _, err := w.pass(nil).Walk(t.Context(), w, nil); !errors.Is(err, tc.err) {
				t.Errorf("a walk returns %v", err)
			}
		})
	}
}

// The status is applied as a whole, over the version that was read, and each write follows the last.
func TestPersist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pass(nil)
	if err := p.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "ale", "namespace": "brewery", "uid": "uid-of-ale", "resourceVersion": "1"}
	if diff := cmp.Diff(want, w.metadata()); diff != "" || w.applied["kind"] != "Batch" || w.applied["apiVersion"] != "example.com/v1" {
		t.Errorf("a %v of %v is applied; its metadata (-want +got):\n%s", w.applied["kind"], w.applied["apiVersion"], diff)
	}
	if status := w.applied["status"].(map[string]any); status["liters"] != 5.0 || status["observedGeneration"] != 3.0 || status["conditions"] == nil || status["attempt"] != nil {
		t.Errorf("the status is %v", status)
	}
	if err := p.Persist(t.Context()); err != nil || len(w.log) != 1 || w.batch.ResourceVersion != "2" {
		t.Errorf("nothing changed, and %q were written, up to version %s: %v", w.log, w.batch.ResourceVersion, err)
	}
	w.batch.Status.Phase = "Mashed"
	if err := p.Persist(t.Context()); err != nil || w.metadata()["resourceVersion"] != "2" || w.batch.ResourceVersion != "3" {
		t.Errorf("the second write is over version %v: %v", w.metadata()["resourceVersion"], err)
	}
	w.batch.Status.Phase, w.err = "Bottled", errors.New("timeout")
	for range 2 { // a write that failed is tried again
		if err := p.Persist(t.Context()); !errors.Is(err, w.err) {
			t.Errorf("the error is %v", err)
		}
	}
	if len(w.log) != 4 {
		t.Errorf("writes: %q", w.log)
	}
	last := batchStatus{}
	if err := p.Status.Last(&last); err != nil || last.Phase != "Mashed" || last.Liters != 5 {
		t.Errorf("the last status is %+v: %v", last, err)
	}
}

// A status that is left out, since all of it is zero, can be decoded and written.
func TestPersistFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.batch.Status = batchStatus{}
	p, last := w.pass(nil), batchStatus{Liters: 5}
	if err := p.Status.Last(&last); err != nil || last.Liters != 5 {
		t.Errorf("the last status is %+v: %v", last, err)
	}
	if err := p.Persist(t.Context()); err != nil || len(w.log) != 1 {
		t.Errorf("writes %q: %v", w.log, err)
	}
}

// A cluster-scoped object has no namespace.
func TestPersistClusterScoped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.batch.Namespace = ""
	if err := w.pass(nil).Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, has := w.metadata()["namespace"]; has {
		t.Errorf("the metadata is %v", w.metadata())
	}
}
