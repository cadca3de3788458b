package shard

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Lock is the lock of a shard's leader election. It cannot be acquired while an operator with
// another Total is a leader, whose namespaces would be others: after a change of Total, the
// new operators wait for the old ones to end. It is used by one leader elector.
//
// Two that acquire at the same time both look for the other after they wrote their own
// Lease, as in Dekker's algorithm: at least one finds the other, and gives up.
type Lock struct {
	*resourcelock.LeaseLock
	shard  Shard
	prefix string
	clock  clock.PassiveClock

	mu       sync.Mutex
	acquired bool
	// seen is when each foreign Lease was first seen as it is: as leader election does, it
	// counts from then for how long it is valid, since clocks may differ.
	seen map[string]sighting
}

type sighting struct {
	renewed metav1.MicroTime
	since   time.Time
}

// NewLock returns the lock of a shard, held in a Lease with its name in the namespace.
func NewLock(leases coordinationv1client.LeasesGetter, namespace, prefix, identity string, s Shard, c clock.PassiveClock) *Lock {
	return &Lock{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: s.LeaseName(prefix)},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		shard: s, prefix: prefix, clock: c, seen: map[string]sighting{},
	}
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.acquire(ctx, record, l.LeaseLock.Create)
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.acquire(ctx, record, l.LeaseLock.Update)
}

// acquire writes the Lease unless it would make two operators leaders of a namespace. A
// leader renews without looking.
func (l *Lock) acquire(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acquired {
		return write(ctx, record)
	}
	if err := l.alone(ctx); err != nil {
		return err
	}
	if err := write(ctx, record); err != nil {
		return err
	}
	if err := l.alone(ctx); err != nil {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // as leader election releases it
		if released := l.LeaseLock.Update(ctx, record); released != nil {
			return fmt.Errorf("%w; the Lease could not be released: %w", err, released)
		}
		return err
	}
	l.acquired = true
	return nil
}

// alone returns an error if an operator with another Total may be a leader.
func (l *Lock) alone(ctx context.Context) error {
	leases, err := l.Client.Leases(l.LeaseMeta.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) && l.shard.whole() {
		return nil // the role is that of a release without shards
	}
	if err != nil {
		return fmt.Errorf("cannot list the Leases of other shards: %w", err)
	}
	var waits error // all Leases are looked at: they expire side by side
	for i := range leases.Items {
		lease := &leases.Items[i]
		if of, ours := total(l.prefix, lease.Name); ours && of != max(l.shard.Total, 1) && l.held(lease) {
			waits = fmt.Errorf("%s leads with --total-shards=%d (Lease %s), and this operator has --total-shards=%d; it waits for the other one to end",
				ptr.Deref(lease.Spec.HolderIdentity, ""), of, lease.Name, max(l.shard.Total, 1))
		}
	}
	return waits
}

// held reports whether the Lease may have a leader.
func (l *Lock) held(lease *coordinationv1.Lease) bool {
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return false
	}
	renewed, now := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}), l.clock.Now()
	before, known := l.seen[lease.Name]
	if !known || !before.renewed.Equal(&renewed) {
		l.seen[lease.Name] = sighting{renewed, now}
		return true
	}
	return now.Before(before.since.Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second))
}
