package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The operator as it runs: events alone lead a Skeleton to its last phase.
func TestManager(t *testing.T) {
	mgr, err := NewManager(config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	w := newWorld(t)
	comesTo := func(phase string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return w.object.Status.Phase == phase, admin.Get(ctx, w.key(), w.object)
		})
		if err != nil {
			t.Fatalf("it is %s, not %s: %v", w.object.Status.Phase, phase, err)
		}
	}
	comesTo("Deployed")
	w.available(2)
	comesTo("RolledOut")
	w.must(admin.Delete(t.Context(), w.deployment()))
	comesTo("Deployed")

	// What a person does about a refusal is an event.
	foreign := w.foreignDeployment()
	w.object.Name, foreign.Name = "other", strings.Replace(foreign.Name, "sample", "other", 1)
	w.object.ResourceVersion, w.object.UID = "", ""
	w.must(admin.Create(t.Context(), foreign))
	w.must(admin.Create(t.Context(), w.object))
	eventually(t, func(ctx context.Context) (bool, error) {
		return w.object.Status.Reason == ReasonNameTaken, admin.Get(ctx, w.key(), w.object)
	})
	w.must(admin.Delete(t.Context(), foreign))
	comesTo("Deployed")
}

// eventually waits until something is so.
func eventually(t *testing.T, is wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, is); err != nil {
		t.Fatal(err)
	}
}
