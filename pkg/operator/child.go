package operator

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The reasons why a Child is not as it is wanted, besides those that Children derive
// from their kind.
const (
	// ReasonNameTaken: an object of the name belongs to somebody else.
	ReasonNameTaken = "NameTaken"
	// ReasonAPIError: the API server failed.
	ReasonAPIError = "APIError"
)

// ApplyConfiguration is the apply configuration A of a kind, such as those of client-go.
type ApplyConfiguration[A any] interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
	WithUID(types.UID) A
	WithAnnotations(map[string]string) A
	WithOwnerReferences(...*metav1ac.OwnerReferenceApplyConfiguration) A
}

// Children is how an operator applies objects of a kind O for its own objects, which
// control them: they are deleted together. All fields are required. It is immutable and
// safe for concurrent use.
type Children[O client.Object, A ApplyConfiguration[A]] struct {
	// Kind is the kind's name, such as Deployment. Of it are made the reasons
	// DeploymentGone, DeploymentChanged and DeploymentRefused.
	Kind string
	// OwnerKind is the kind of the objects that control them.
	OwnerKind schema.GroupVersionKind
	// FieldOwner is the field owner.
	FieldOwner client.FieldOwner
	// Annotation is the name of the annotation that identifies what was applied.
	Annotation string
	// Extract returns what a field owner owns of an object; client-go has one per kind.
	Extract func(object O, owner string) (A, error)
}

// KindOf returns the Kind of a reason of a Child; 0 if it is not one.
func (k *Children[O, A]) KindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonNameTaken:
		return statemachine.Refused
	case k.gone(), k.changed(), k.refused(), ReasonAPIError: // no event says that a quota, a policy or a right has changed
		return statemachine.Failed
	}
	return 0
}

func (k *Children[O, A]) gone() string    { return k.Kind + "Gone" }
func (k *Children[O, A]) changed() string { return k.Kind + "Changed" }
func (k *Children[O, A]) refused() string { return k.Kind + "Refused" }

// Child is what was read of one object that an operator applies. It is not safe for
// concurrent use.
type Child[O client.Object, A ApplyConfiguration[A]] struct {
	// Object is the object of the name, whosever it is. It is empty, without a UID, if
	// there is none.
	Object O

	kind       *Children[O, A]
	controller client.Object
	wanted     A
}

// Read reads the object that is wanted for its controller; what is wanted has a name and,
// unless it is cluster-scoped, a namespace. It becomes the Child's, which completes it with
// the owner reference and the annotation: it is made anew for each Read. Its error is that
// of the reader; an object that does not exist is none.
func (k *Children[O, A]) Read(ctx context.Context, reader client.Reader, controller client.Object, wanted A) (*Child[O, A], error) {
	wanted.WithOwnerReferences(metav1ac.OwnerReference().
		WithAPIVersion(k.OwnerKind.GroupVersion().String()).WithKind(k.OwnerKind.Kind).
		WithName(controller.GetName()).WithUID(controller.GetUID()).
		WithController(true).WithBlockOwnerDeletion(true))
	wanted.WithAnnotations(map[string]string{k.Annotation: apply.Digest(wanted)})
	c := &Child[O, A]{Object: empty[O](), kind: k, controller: controller, wanted: wanted}
	err := reader.Get(ctx, c.key(), c.Object)
	return c, client.IgnoreNotFound(err)
}

func (c *Child[O, A]) key() client.ObjectKey {
	return client.ObjectKey{Namespace: ptr.Deref(c.wanted.GetNamespace(), ""), Name: *c.wanted.GetName()}
}

// empty returns an empty object of a pointer type.
func empty[O client.Object]() O { return reflect.New(reflect.TypeFor[O]().Elem()).Interface().(O) }

// Key identifies what an attempt depends on: the generation of the controller, and
// which object there is.
func (c *Child[O, A]) Key() string {
	if c.Object.GetUID() == "" {
		return fmt.Sprintf("generation %d", c.controller.GetGeneration())
	}
	return fmt.Sprintf("generation %d, %s %s", c.controller.GetGeneration(), strings.ToLower(c.kind.Kind), c.Object.GetUID())
}

// Exists reports whether the object exists and belongs to the controller.
func (c *Child[O, A]) Exists() bool { return metav1.IsControlledBy(c.Object, c.controller) }

// Drift returns why the object is not as it is wanted; nil if it is. It compares what the
// operator owns of it with what it would apply, so that a removed field is noticed, and
// fields of others are not touched.
func (c *Child[O, A]) Drift() *statemachine.Outcome {
	switch {
	case c.Object.GetUID() == "":
		return c.outcome(c.kind.gone(), "%s is missing; recreating.", nil)
	case !c.Exists():
		return c.outcome(ReasonNameTaken, "%s does not belong to this "+c.kind.OwnerKind.Kind+". Delete it, or rename the "+c.kind.OwnerKind.Kind+".", nil)
	}
	if owned, err := c.kind.Extract(c.Object, string(c.kind.FieldOwner)); err != nil || !apply.Stands(owned, c.wanted) {
		return c.outcome(c.kind.changed(), "%s was changed; restoring.", nil)
	}
	return nil
}

// Ensure applies the object if it is not as it is wanted, but never an object of
// somebody else. What was read of it is then older than what was written: Object is
// emptied, and an event brings the new one.
func (c *Child[O, A]) Ensure(ctx context.Context, writer *apply.Client) statemachine.Outcome {
	if why := c.Drift(); why == nil || why.Reason == ReasonNameTaken {
		return statemachine.DoneUnless(why)
	}
	if uid := c.Object.GetUID(); uid != "" {
		c.wanted.WithUID(uid) // or a later one of its name would be taken over
	}
	err := writer.Object(ctx, c.kind.FieldOwner, c.key().String(), c.wanted)
	switch {
	case apply.IsGone(err):
		return *c.outcome(c.kind.gone(), "%s is missing; recreating.", err)
	case apply.IsRejected(err):
		return *c.outcome(c.kind.refused(), "%s was rejected by the API server; see status.attempt.lastError.", err)
	case err != nil:
		return *c.outcome(ReasonAPIError, "%s could not be applied; see status.attempt.lastError.", err)
	}
	c.Object = empty[O]()
	return statemachine.DoneUnless(nil)
}

// outcome returns the Outcome of a reason; the message has %s for the object.
func (c *Child[O, A]) outcome(reason, message string, err error) *statemachine.Outcome {
	message = fmt.Sprintf(message, fmt.Sprintf("The %s %s", c.kind.Kind, c.key().Name))
	return &statemachine.Outcome{Kind: c.kind.KindOf(reason), Reason: reason, Message: message, Err: err}
}
