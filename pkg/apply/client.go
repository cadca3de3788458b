// Package apply provides server-side apply for any kind: typed apply configurations, one
// field owner per concern, and the UID of every existing object, so that no write
// recreates an object that was deleted. It also interprets answers of the API server
// (IsGone, IsStale, ConflictingManagers) and field ownership (Managers).
//
// A Client does not compare objects: callers call it only when the observed object
// differs.
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

// New returns a Client whose writes pass through the seam.
func New(c client.Client, seam effects.Seam) *Client { return &Client{client: c, seam: seam} }

// Object applies an object and takes ownership of the applied fields from other
// managers. The name identifies the write for the seam.
func (c *Client) Object(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Apply(ctx, ac, append(options, owner, client.ForceOwnership)...)
	})
}

// Shared applies fields of an object that others may own. It fails if another manager
// owns a field with a different value (ConflictingManagers). It does not fail if the
// values are equal, so callers should check Managers as well.
func (c *Client) Shared(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Apply(ctx, ac, owner)
	})
}

// Status applies the status of a custom resource. The status subresource ignores the UID
// (apiextensions-apiserver pkg/registry/customresource/status_strategy.go); the
// resourceVersion in ac protects a recreated object of the same name.
func (c *Client) Status(ctx context.Context, owner client.FieldOwner, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.Status().Apply(ctx, ac, owner, client.ForceOwnership)
	})
}

// Subresource applies fields of a subresource that others may own parts of, like Shared
// does for an object.
func (c *Client) Subresource(ctx context.Context, owner client.FieldOwner, subresource, name string, ac runtime.ApplyConfiguration) error {
	return c.do(ctx, owner, name, func(ctx context.Context) error {
		return c.client.SubResource(subresource).Apply(ctx, ac, owner)
	})
}

func (c *Client) do(ctx context.Context, owner client.FieldOwner, on string, write func(context.Context) error) error {
	return c.seam(ctx, effects.Effect{Kind: effects.Apply, What: string(owner), On: on}, write)
}

// Delete deletes this object, but not a later one of the same name. It returns nil if
// the object is already gone.
func (c *Client) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	gvk, err := c.client.GroupVersionKindFor(obj) // what was read has no kind in it
	if err != nil {
		return err
	}
	effect := effects.Effect{Kind: effects.Delete, What: gvk.Kind, On: Name(obj)}
	return c.seam(ctx, effect, func(ctx context.Context) error {
		err := c.client.Delete(ctx, obj, append(options, client.Preconditions{UID: new(obj.GetUID())})...)
		if IsGone(err) {
			return nil
		}
		return err
	})
}

// Name returns namespace/name of an object.
func Name(obj client.Object) string { return client.ObjectKeyFromObject(obj).String() }
