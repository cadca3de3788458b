package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// read returns the cluster; nil if there is none, or it is going.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey) (*cluster, error) {
	c := &cluster{
		object: &v1.PostgresCluster{}, image: r.Image, now: r.Clock.Now(),
		services: map[string]*corev1.Service{}, claims: map[string]*corev1.PersistentVolumeClaim{}, pods: map[string]*corev1.Pod{},
	}
	if err := r.Live.Get(ctx, key, c.object); err != nil || !c.object.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	c.record = &c.object.Status
	if c.object.Spec.Image != "" {
		c.image = c.object.Spec.Image
	}
	secret := &corev1.Secret{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: secretName(key.Name)}, secret); {
	case err == nil:
		c.secret, c.password = secret, string(secret.Data[passwordKey])
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	claims := r.Reader
	if c.adopts() { // initdb runs for nobody whose data is there, seen by the cache or not
		claims = r.Live
	}
	if err := c.readObjects(ctx, r.Reader, claims); err != nil {
		return nil, err
	}
	c.observe(ctx)
	return c, nil
}

// readObjects reads what has a name that is needed, whosever it is.
func (c *cluster) readObjects(ctx context.Context, reader, claims client.Reader) error {
	budget := &policyv1.PodDisruptionBudget{}
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(c.object), budget); {
	case err == nil:
		c.budget = budget
	case !apierrors.IsNotFound(err):
		return err
	}
	cronJob := &batchv1.CronJob{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: c.object.Namespace, Name: backupName(c.object.Name)}, cronJob); {
	case err == nil:
		c.cronJob = cronJob
	case !apierrors.IsNotFound(err):
		return err
	}
	names := []string{c.object.Name + "-rw", c.object.Name + "-ro"}
	for ordinal := range maxMembers {
		names = append(names, memberName(c.object.Name, ordinal))
	}
	for _, name := range names {
		key := client.ObjectKey{Namespace: c.object.Namespace, Name: name}
		service, claim, pod := &corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.Pod{}
		for _, object := range []client.Object{service, claim, pod} {
			from := reader
			if object == claim {
				from = claims
			}
			err := from.Get(ctx, key, object)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			switch object.(type) {
			case *corev1.Service:
				c.services[name] = service
			case *corev1.PersistentVolumeClaim:
				c.claims[name] = claim
			case *corev1.Pod:
				c.pods[name] = pod
			}
		}
	}
	return nil
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

// voters returns all members whose acknowledgment may count.
func (c *cluster) voters() []string {
	all := slices.Concat(c.record.Voters, c.record.NextVoters)
	slices.Sort(all)
	return slices.Compact(all)
}

// members returns those that are wanted, and those that still count.
func (c *cluster) members() []string {
	all := slices.Concat(c.wanted(), c.voters())
	slices.Sort(all)
	return slices.Compact(all)
}

// wanted returns the members of a cluster of the size that is wanted. Those with the most of the
// primary's log stay; once next voters are announced, these do.
func (c *cluster) wanted() []string {
	preferred := slices.Concat(c.byPosition(c.record.NextVoters), c.byPosition(c.record.Voters))
	return membersOf(c.object.Name, int(c.object.Spec.Size), c.record.Primary, preferred)
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
