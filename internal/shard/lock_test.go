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
	valid    = 15 * time.Second
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
	lock := NewLock(c.CoordinationV1(), system, operator, identity, s, valid, c.clock)
	return lock, c.renew(ctx, t, lock)
}

// renew does what leader election does, with a Lease that it may have.
func (c *cluster) renew(ctx context.Context, t *testing.T, lock *Lock) error {
	t.Helper()
	now := metav1.NewTime(c.clock.Now())
	record := resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity(), LeaseDurationSeconds: int(valid.Seconds()), AcquireTime: now, RenewTime: now}
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
			c.clock.SetTime(c.clock.Now().Add(valid))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			old, err := c.lead(t.Context(), t, "old", Shard{Index: 1, Total: 3})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.lead(t.Context(), t, "beside", Shard{Index: 2, Total: 3}); err != nil {
				t.Errorf("another shard of three does not lead: %v", err)
			}
			c.clock.SetTime(c.clock.Now().Add(24 * time.Hour)) // a clock that is ahead of theirs
			lock, err := c.lead(t.Context(), t, "new", Shard{})
			if err == nil || !strings.Contains(err.Error(), "is a leader with --total-shards=3") {
				t.Fatalf("an operator of all namespaces leads beside shards: %v", err)
			}
			if got := c.holder(t.Context(), t, operator); got != "" {
				t.Fatalf("%s holds the Lease", got)
			}
			c.clock.SetTime(c.clock.Now().Add(valid - time.Second))
			if err := c.renew(t.Context(), t, old); err != nil {
				t.Errorf("a leader cannot renew its Lease beside one who waits: %v", err)
			}
			if err := c.renew(t.Context(), t, lock); err == nil {
				t.Error("it leads, although a Lease was renewed")
			}
			c.clock.SetTime(c.clock.Now().Add(time.Second)) // the Lease of another shard of three has expired
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
// Lease after it wrote its own gives its own back, whether it made the Lease or found it.
func TestAcquiredAtTheSameTime(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		c := newCluster()
		if verb == "update" {
			c.has(t, "operator", "")
		}
		raced := false
		c.PrependReactor(verb, "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			if !raced {
				raced = true
				c.has(t, "operator-1", "other_1-of-2")
			}
			return false, nil, nil
		})
		if _, err := c.lead(t.Context(), t, "one", Shard{}); err == nil {
			t.Errorf("%s: both lead", verb)
		}
		if got := c.holder(t.Context(), t, operator); got != "" {
			t.Errorf("%s: %s still holds its Lease", verb, got)
		}
		if got := c.holder(t.Context(), t, "operator-1"); got != "other_1-of-2" {
			t.Errorf("%s: %q holds the other Lease, want other", verb, got)
		}
	}
}

// has adds a Lease with this holder.
func (c *cluster) has(t *testing.T, name, holder string) {
	t.Helper()
	now := metav1.NewMicroTime(c.clock.Now())
	if err := c.Tracker().Add(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(1 << 30)), RenewTime: &now},
	}); err != nil {
		t.Fatal(err)
	}
}

// A leader that was stopped for longer than its Lease, and continues when one with another
// number leads, does not renew it: neither its own, nor beside the other's.
func TestContinuesAfterItsLease(t *testing.T) {
	c := newCluster()
	old, err := c.lead(t.Context(), t, "old", Shard{Index: 1, Total: 2})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := c.lead(t.Context(), t, "new", Shard{})
	if err == nil {
		t.Fatal("both lead")
	}
	c.clock.SetTime(c.clock.Now().Add(valid))
	if err := c.renew(t.Context(), t, lock); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.renew(t.Context(), t, old); err == nil {
			t.Error("both lead after one was stopped")
		}
		if err := c.renew(t.Context(), t, lock); err != nil {
			t.Errorf("the other one cannot renew its Lease: %v", err)
		}
	}
}

// A Lease of another number that was never released delays one start, and no later one.
func TestLeftLease(t *testing.T) {
	c := newCluster()
	c.has(t, "operator-1", "gone_1-of-2")
	first, err := c.lead(t.Context(), t, "first", Shard{})
	if err == nil {
		t.Fatal("it leads, although the other may be alive")
	}
	c.clock.SetTime(c.clock.Now().Add(valid))
	if err := c.renew(t.Context(), t, first); err != nil {
		t.Fatalf("it does not lead after %s: %v", valid, err)
	}
	if err := first.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.lead(t.Context(), t, "second", Shard{}); err != nil {
		t.Errorf("the next operator does not lead at once: %v", err)
	}
}
