package shard

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Lock is the lock of a shard's leader election. It is neither acquired nor renewed while an
// operator with another Total is a leader, whose namespaces would be others: after a change of
// Total, the new operators wait for the old ones to end. It is for one leader elector, which
// calls it from one goroutine.
//
// Two that acquire at the same time both look for the other after they wrote their own
// Lease, as in Dekker's algorithm: at least one finds the other, and gives up. A leader that was
// stopped, and continues when others lead, finds them before it renews.
type Lock struct {
	*resourcelock.LeaseLock
	shard    Shard
	prefix   string
	duration time.Duration
	clock    clock.PassiveClock

	leads bool
	// observed is since when each foreign Lease has not changed: as leader election does, it
	// counts by its own clock, since clocks may differ.
	observed map[string]observation
}

type observation struct {
	renewed metav1.MicroTime
	since   time.Time
}

// NewLock returns the lock of a shard, held in a Lease with its name in the namespace.
// duration is for how long a Lease is valid.
func NewLock(leases coordinationv1client.LeasesGetter, namespace, prefix, identity string, s Shard, duration time.Duration, c clock.PassiveClock) *Lock {
	return &Lock{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: s.LeaseName(prefix)},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: s.holder(identity)},
		},
		shard: s, prefix: prefix, duration: duration, clock: c, observed: map[string]observation{},
	}
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.hold(ctx, record, l.LeaseLock.Create)
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" { // it is released
		return l.LeaseLock.Update(ctx, record)
	}
	return l.hold(ctx, record, l.LeaseLock.Update)
}

// hold writes the Lease unless it would make two operators leaders of a namespace.
func (l *Lock) hold(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if err := l.alone(ctx); err != nil {
		return err
	}
	if err := write(ctx, record); err != nil || l.leads {
		return err
	}
	if err := l.alone(ctx); err != nil {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // as leader election releases it
		if released := l.LeaseLock.Update(ctx, record); released != nil {
			return fmt.Errorf("%w; the Lease could not be released: %w", err, released)
		}
		return err
	}
	l.leads = true
	return nil
}

// alone returns an error if an operator with another Total may be a leader. A Lease that such
// a one has not renewed for long is released for it.
func (l *Lock) alone(ctx context.Context) error {
	leases, err := l.Client.Leases(l.LeaseMeta.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list the Leases of other shards: %w", err)
	}
	var waits error // all Leases are looked at: they expire side by side
	for i := range leases.Items {
		lease := &leases.Items[i]
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		if !isLease(l.prefix, lease.Name) || lease.Name == l.LeaseMeta.Name || holder == "" || totalOf(holder) == l.shard.total() {
			continue
		}
		if l.isExpired(lease) {
			lease.Spec.HolderIdentity = new("")
			_, err := l.Client.Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
			if err == nil {
				continue
			}
		}
		waits = fmt.Errorf("%s is a leader with --total-shards=%d (Lease %s), and this operator has --total-shards=%d; it waits for the other one to end",
			holder, totalOf(holder), lease.Name, l.shard.total())
	}
	return waits
}

// isExpired reports whether the Lease has not been renewed for as long as it is valid.
func (l *Lock) isExpired(lease *coordinationv1.Lease) bool {
	renewed, now := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}), l.clock.Now()
	before, known := l.observed[lease.Name]
	if !known || !before.renewed.Equal(&renewed) {
		l.observed[lease.Name] = observation{renewed, now}
		return false
	}
	return !now.Before(before.since.Add(l.duration))
}
