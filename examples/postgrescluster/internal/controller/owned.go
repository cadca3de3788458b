package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// stands reports whether what this operator owns of an object is what it would apply.
func stands[O client.Object, A any](object O, extract func(object O, owner string) (A, error), wanted A) bool {
	owned, err := extract(object, string(owner))
	return err == nil && apply.Stands(owned, wanted)
}

// ensureOwned applies an object in the place of the one that was read, which is nil if there was none.
// It never applies one of somebody else, nor a later one of the name.
func ensureOwned[O interface {
	comparable
	client.Object
}, A operator.ApplyConfiguration[A]](ctx context.Context, r *Reconciler, c *cluster, object O, wanted A) *statemachine.Outcome {
	var none O
	if object != none {
		if !c.owns(object) {
			return c.nameTaken(object)
		}
		wanted.WithUID(object.GetUID())
	}
	return r.applyObject(ctx, owner, c.object.Namespace+"/"+*wanted.GetName(), kindName(object), wanted)
}
