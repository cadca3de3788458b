package apply

import (
	"bytes"
	"context"
	"encoding/json"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status persists the status of one object while a reconcile changes it in place. It is
// not safe for concurrent use.
type Status struct {
	client *Client
	owner  client.FieldOwner
	object client.Object
	// written is the status as it was read or written last, in JSON.
	written []byte
}

// StatusOf returns the Status of an object that was just read and not changed since.
func (c *Client) StatusOf(owner client.FieldOwner, object client.Object) *Status {
	s := &Status{client: c, owner: owner, object: object}
	s.written, _ = statusOf(object) // an error is that of each Write
	return s
}

// Object returns the object.
func (s *Status) Object() client.Object { return s.object }

// Write applies the status that the object has now, as a whole, unless it is the one
// that was read or written last. What the status omits in JSON is not applied, and
// therefore not owned. It updates the object's resourceVersion, and returns a conflict
// (IsStale) if the object has changed since it was read.
func (s *Status) Write(ctx context.Context) error {
	status, err := statusOf(s.object)
	if err != nil || bytes.Equal(status, s.written) {
		return err
	}
	gvk, err := s.client.client.GroupVersionKindFor(s.object)
	if err != nil {
		return err
	}
	stated := &statusConfiguration{
		TypeMetaApplyConfiguration: *metav1ac.TypeMeta().WithAPIVersion(gvk.GroupVersion().String()).WithKind(gvk.Kind),
		ObjectMetaApplyConfiguration: metav1ac.ObjectMeta().WithName(s.object.GetName()).
			WithUID(s.object.GetUID()).WithResourceVersion(s.object.GetResourceVersion()),
		Status: bytes.Clone(status), // the answer is decoded into it
	}
	if namespace := s.object.GetNamespace(); namespace != "" {
		stated.WithNamespace(namespace)
	}
	if err := s.client.Status(ctx, s.owner, Name(s.object), stated); err != nil {
		return err
	}
	s.object.SetResourceVersion(*stated.ResourceVersion)
	s.written = status
	return nil
}

// statusOf returns the status of an object in JSON.
func statusOf(object client.Object) (json.RawMessage, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Status json.RawMessage `json:"status"`
	}
	return parts.Status, json.Unmarshal(data, &parts)
}

// statusConfiguration is the apply configuration of a status of any kind. It is not the
// unstructured one of the client: that would wait for a cache of unstructured objects,
// and reads of typed ones would not see the write.
type statusConfiguration struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Status                                 json.RawMessage `json:"status,omitempty"`
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (statusConfiguration) IsApplyConfiguration() {}
