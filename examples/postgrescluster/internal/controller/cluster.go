package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The labels of what belongs to a cluster.
const (
	labelMember = "lukeb0nd.com/member"
	labelRole   = "lukeb0nd.com/role"
	// labelOf is the UID of the PostgresCluster that a claim was made for: claims may outlive it.
	labelOf = "lukeb0nd.com/cluster-uid"
)

// The values of labelRole, which the Services select by.
const (
	rolePrimary = "primary"
	roleReplica = "replica"
	// roleDiverged is that of a member whose history is not the primary's: no Service selects it.
	roleDiverged = "diverged"
)

func labelsOf(cluster string) labels.Set {
	return labels.Set{"app.kubernetes.io/name": "postgrescluster", "app.kubernetes.io/instance": cluster}
}

// A cluster is what was read and observed for one PostgresCluster.
type cluster struct {
	object *v1.PostgresCluster
	image  string
	now    time.Time

	secret   *corev1.Secret
	password string
	services map[string]*corev1.Service
	claims   map[string]*corev1.PersistentVolumeClaim
	pods     map[string]*corev1.Pod
	// cronJob is that of the base backups; nil if there is none.
	cronJob *batchv1.CronJob
	// budget is the PodDisruptionBudget; nil if there is none.
	budget *policyv1.PodDisruptionBudget
	// servers are those that answered.
	servers map[string]*server
	// refusals are what others said that run and did not.
	refusals map[string]*pgconn.PgError

	// kept is what keeps voters from being started or from following the primary, nil if nothing
	// does. It holds up neither a failover, nor those who write, nor that they leave.
	kept *statemachine.Outcome

	// record is the status of the object, as it is to be persisted; pass persists it.
	record *v1.PostgresClusterStatus
	pass   *operator.Pass[*cluster]
}

// maxMembers is one more than the largest size: while members change, there may be one more.
const maxMembers = 8

// observe asks all members whose pods run, side by side.
func (c *cluster) observe(ctx context.Context) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	c.servers, c.refusals = map[string]*server{}, map[string]*pgconn.PgError{}
	for name, pod := range c.pods {
		if !c.owns(pod) || !running(pod) || c.address(name) == "" {
			continue
		}
		wait.Go(func() {
			s, err := observe(ctx, name, c.address(name), c.password)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				c.servers[name] = s
			} else if refused := refusal(err); refused != nil {
				c.refusals[name] = refused
			}
		})
	}
	wait.Wait()
	for name, s := range c.servers {
		if id := c.record.SystemIdentifier; id != "" && s.SystemIdentifier != id {
			delete(c.servers, name) // another cluster answers at this address
		}
	}
}

// address returns where a member is reached, by its Service; empty if it has none.
func (c *cluster) address(name string) string {
	if s := c.services[name]; s != nil && c.owns(s) {
		return s.Spec.ClusterIP
	}
	return ""
}

// owns reports whether an object is this cluster's.
func (c *cluster) owns(object client.Object) bool {
	if _, ok := object.(*corev1.PersistentVolumeClaim); ok {
		return object.GetLabels()[labelOf] == string(c.object.UID)
	}
	return metav1.IsControlledBy(object, c.object)
}

// primary returns the primary's server if it is well; nil if not.
func (c *cluster) primary() *server {
	s := c.servers[c.record.Primary]
	if c.record.Announced != nil || c.record.Promotion == nil || s == nil || s.InRecovery || s.promotion() != c.record.Promotion.Number {
		return nil
	}
	return s
}

// streaming returns the members in replication, with the primary; none without one.
func (c *cluster) streaming() []string {
	p := c.primary()
	if p == nil {
		return nil
	}
	members := []string{c.record.Primary}
	for _, name := range p.Streaming {
		if name != c.record.Primary && c.pods[name] != nil {
			members = append(members, name)
		}
	}
	slices.Sort(members)
	return members
}

// adopts reports whether claims may be taken over.
func (c *cluster) adopts() bool { return c.record.SystemIdentifier == "" || c.record.Adopting }

func memberName(cluster string, ordinal int) string { return fmt.Sprintf("%s-%d", cluster, ordinal) }

func secretName(cluster string) string { return cluster + "-credentials" }

// passwordKey is the key of the Secret.
const passwordKey = "password"

func backupName(cluster string) string { return cluster + "-backup" }

// running reports whether a pod's container runs.
func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero()
}
