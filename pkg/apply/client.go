// Package apply is server-side apply for any kind, for operators that own what they
// state: typed apply configurations, one field owner per concern, and the UID of
// every object that already exists, so that no write recreates one that vanished.
// It says what an answer of the API server means (IsGone, IsStale,
// ConflictingManagers), and who owns what (Managers).
//
// A Client compares nothing: callers know what they have observed and call it
// only when something differs.
package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// Client writes to the API. It is safe for concurrent use.
type Client struct {
	client client.Client
	seam   effects.Seam
}

// New returns a Client whose writes pass the seam.
func New(c client.Client, seam effects.Seam) *Client { return &Client{client: c, seam: seam} }

// Object states an object, named for the seam: what the owner states is its alone,
// and taken from whoever else has it.
func (c *Client) Object(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Apply(ctx, ac, owner, client.ForceOwnership)
	})
}

// Shared states fields of an object that others may own: what somebody else owns
// with another value makes it fail (ConflictingManagers). What somebody else owns
// with the same value does not, hence callers look at Managers as well.
func (c *Client) Shared(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Apply(ctx, ac, owner)
	})
}

// Status states the status of a custom resource. Its subresource ignores the UID
// (apiextensions-apiserver pkg/registry/customresource/status_strategy.go): it is
// the resourceVersion in ac that keeps a status from a successor of the same name.
func (c *Client) Status(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Status().Apply(ctx, ac, owner, client.ForceOwnership)
	})
}

// Subresource states fields of a subresource that others may own parts of, as Shared
// does of an object.
func (c *Client) Subresource(ctx context.Context, owner client.FieldOwner, subresource, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.SubResource(subresource).Apply(ctx, ac, owner)
	})
}

func (c *Client) do(ctx context.Context, owner client.FieldOwner, on string, write func(context.Context) error) error {
	return c.seam(ctx, effects.Effect{Kind: effects.Apply, What: string(owner), On: on}, write)
}

// Delete deletes this object and no later one of its name. That it is gone
// already is no error.
func (c *Client) Delete(ctx context.Context, obj client.Object) error {
	gvk, err := c.client.GroupVersionKindFor(obj) // what was read has no kind in it
	if err != nil {
		return err
	}
	effect := effects.Effect{Kind: effects.Delete, What: gvk.Kind, On: Name(obj)}
	return c.seam(ctx, effect, func(ctx context.Context) error {
		err := c.client.Delete(ctx, obj, client.Preconditions{UID: new(obj.GetUID())})
		if IsGone(err) {
			return nil
		}
		return err
	})
}

// Name is namespace/name of an object.
func Name(obj client.Object) string { return client.ObjectKeyFromObject(obj).String() }
