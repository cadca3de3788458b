package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// read returns the cluster; nil if there is none, or it is going.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey) (*cluster, error) {
	c := &cluster{
		object: &v1.PostgresCluster{}, image: r.Image, now: r.Clock.Now(),
		services: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{},
	}
	// Before the status: what the next operator records on a claim after this makes a record of this
	// status stale.
	if err := c.readClaims(ctx, r.Reader, key); err != nil {
		return nil, err
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
	if c.adopts() { // initdb runs for nobody whose data is there, seen by the cache or not
		if err := c.readClaims(ctx, r.Live, key); err != nil {
			return nil, err
		}
	}
	if err := c.readObjects(ctx, r.Reader); err != nil {
		return nil, err
	}
	c.observe(ctx)
	return c, nil
}

// readClaims reads the claims of all members that there may be, whosever they are.
func (c *cluster) readClaims(ctx context.Context, reader client.Reader, cluster client.ObjectKey) error {
	c.claims = map[string]*corev1.PersistentVolumeClaim{}
	for _, name := range allMembers(cluster.Name) {
		claim := &corev1.PersistentVolumeClaim{}
		switch err := reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, claim); {
		case err == nil:
			c.claims[name] = claim
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// readObjects reads the other objects that have a name that is needed, whosever they are.
func (c *cluster) readObjects(ctx context.Context, reader client.Reader) error {
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
	for _, name := range append(allMembers(c.object.Name), c.object.Name+"-rw", c.object.Name+"-ro") {
		key := client.ObjectKey{Namespace: c.object.Namespace, Name: name}
		service, pod := &corev1.Service{}, &corev1.Pod{}
		for _, object := range []client.Object{service, pod} {
			err := reader.Get(ctx, key, object)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			switch object.(type) {
			case *corev1.Service:
				c.services[name] = service
			case *corev1.Pod:
				c.pods[name] = pod
			}
		}
	}
	return nil
}
