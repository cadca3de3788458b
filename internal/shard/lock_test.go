package shard

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testclock "k8s.io/utils/clock/testing"
)

const (
	system   = "system"
	valid    = 15 // seconds
	operator = "operator"
)

// cluster has Leases; the API is client-go's fake, into which a test can put an error.
type cluster struct {
	*fake.Clientset
	clock *testclock.FakePassiveClock
}

func newCluster() *cluster {
	return &cluster{fake.NewClientset(), testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

// lead returns an operator of a shard, and whether it leads after one attempt.
func (c *cluster) lead(ctx context.Context, t *testing.T, identity string, s Shard) (*Lock, error) {
	t.Helper()
	lock := NewLock(c.CoordinationV1(), system, operator, identity, s, c.clock)
	return lock, c.renew(ctx, t, lock)
}

// renew does what leader election does, with a Lease that it may have.
func (c *cluster) renew(ctx context.Context, t *testing.T, lock *Lock) error {
	t.Helper()
	now := metav1.NewTime(c.clock.Now())
	record := resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity(), LeaseDurationSeconds: valid, AcquireTime: now, RenewTime: now}
	_, _, err := lock.Get(ctx)
	if apierrors.IsNotFound(err) {
		return lock.Create(ctx, record)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lock.Update(ctx, record)
}

func (c *cluster) holder(ctx context.Context, t *testing.T, lease string) string {
	t.Helper()
	got, err := c.CoordinationV1().Leases(system).Get(ctx, lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return *got.Spec.HolderIdentity
}

// An operator waits for one with another number of shards to release its Lease, or for the
// Lease to expire, whatever the clock of the other one says.
func TestWaitsForOtherTotal(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *cluster, *Lock) error{
		"released": func(t *testing.T, _ *cluster, old *Lock) error {
			return old.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1})
		},
		"expired": func(_ *testing.T, c *cluster, _ *Lock) error {
			c.clock.SetTime(c.clock.Now().Add(valid * time.Second))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			old, err := c.lead(t.Context(), t, "old", Shard{Index: 1, Total: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.lead(t.Context(), t, "beside", Shard{Index: 0, Total: 2}); err != nil {
				t.Errorf("the other shard of two does not lead: %v", err)
			}
			c.clock.SetTime(c.clock.Now().Add(24 * time.Hour)) // a clock that is ahead of theirs
			lock, err := c.lead(t.Context(), t, "new", Shard{})
			if err == nil || !strings.Contains(err.Error(), "leads with --total-shards=2") {
				t.Fatalf("an operator of all namespaces leads beside shards: %v", err)
			}
			if got := c.holder(t.Context(), t, operator); got != "" {
				t.Fatalf("%s holds the Lease", got)
			}
			c.clock.SetTime(c.clock.Now().Add((valid - 1) * time.Second))
			if err := c.renew(t.Context(), t, old); err != nil {
				t.Errorf("a leader cannot renew its Lease beside one who waits: %v", err)
			}
			if err := c.renew(t.Context(), t, lock); err == nil {
				t.Error("it leads, although a Lease was renewed")
			}
			c.clock.SetTime(c.clock.Now().Add(time.Second)) // the Lease of the other shard of two has expired
			if err := end(t, c, old); err != nil {
				t.Fatal(err)
			}
			if err := c.renew(t.Context(), t, lock); err != nil {
				t.Errorf("it does not lead after the end of the other: %v", err)
			}
		})
	}
}

// Of two with different numbers that acquire at the same time, the one that finds the other's
// Lease after it wrote its own gives its own back.
func TestAcquiredAtTheSameTime(t *testing.T) {
	c := newCluster()
	c.PrependReactor("create", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		now := metav1.NewMicroTime(c.clock.Now())
		return false, nil, c.Tracker().Add(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "operator-1-of-2"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("other"), LeaseDurationSeconds: new(int32(valid)), RenewTime: &now},
		})
	})
	if _, err := c.lead(t.Context(), t, "one", Shard{}); err == nil {
		t.Error("both lead")
	}
	if got := c.holder(t.Context(), t, operator); got != "" {
		t.Errorf("%s still holds its Lease", got)
	}
	if got := c.holder(t.Context(), t, "operator-1-of-2"); got != "other" {
		t.Errorf("%q holds the other Lease, want other", got)
	}
}

// An operator of all namespaces leads with the role of a release that had no shards; one of a
// shard does not.
func TestWithoutRightToList(t *testing.T) {
	c := newCluster()
	c.PrependReactor("list", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), "", nil)
	})
	if _, err := c.lead(t.Context(), t, "one", Shard{Total: 1}); err != nil {
		t.Error(err)
	}
	if _, err := c.lead(t.Context(), t, "other", Shard{Total: 2}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want the refusal", err)
	}
}
