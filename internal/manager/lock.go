package manager

import (
	"errors"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// newLock returns the lock of a shard's leader election, in the namespace or the pod's own.
// A Lease is valid for duration, and the leader tries for as long as deadline to renew it.
func newLock(config *rest.Config, namespace, prefix string, of shard.Shard, duration, deadline time.Duration) (*shard.Lock, error) {
	if namespace == "" {
		if namespace = OwnNamespace(); namespace == "" {
			return nil, errors.New("cannot find the namespace of the Lease, because this is no pod: set --leader-election-namespace, or --leader-elect=false if no other operator runs")
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = max(deadline/2, time.Second) // one request that hangs must not cost the leader its Lease
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return shard.NewLock(leases, namespace, prefix, host+"_"+string(uuid.NewUUID()), of, duration, clock.RealClock{}), nil
}
