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

// Last decodes the status that was read or written last, whatever the object has now. Its
// error is that of JSON.
func (s *Status) Last(status any) error { return json.Unmarshal(s.written, status) }

// Write applies the status that the object has now (Client.WholeStatus), unless it is the
// one that was read or written last.
func (s *Status) Write(ctx context.Context) error {
	status, err := statusOf(s.object)
	if err != nil || bytes.Equal(status, s.written) {
		return err
	}
	if err := s.client.WholeStatus(ctx, s.owner, s.object, status); err != nil {
		return err
	}
	s.written = status
	return nil
}

// WholeStatus applies a status, or its JSON, as the complete one of an object, and updates
// the object's resourceVersion, so that the next one can be applied. What the status omits
// in JSON is not applied, and therefore not owned. It returns a conflict (IsStale) if the
// object has changed since it was read.
func (c *Client) WholeStatus(ctx context.Context, owner client.FieldOwner, object client.Object, status any) error {
	gvk, err := c.client.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	data, err := json.Marshal(status) // a copy: the answer is decoded into it
	if err != nil {
		return err
	}
	stated := &statusConfiguration{
		TypeMetaApplyConfiguration: *metav1ac.TypeMeta().WithAPIVersion(gvk.GroupVersion().String()).WithKind(gvk.Kind),
		ObjectMetaApplyConfiguration: metav1ac.ObjectMeta().WithName(object.GetName()).
			WithUID(object.GetUID()).WithResourceVersion(object.GetResourceVersion()),
		Status: data,
	}
	if namespace := object.GetNamespace(); namespace != "" {
		stated.WithNamespace(namespace)
	}
	if err := c.Status(ctx, owner, Name(object), stated); err != nil {
		return err
	}
	object.SetResourceVersion(*stated.ResourceVersion)
	return nil
}

// statusOf returns the status of an object in JSON; {} for one that is left out because it is zero.
func statusOf(object client.Object) (json.RawMessage, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, err
	}
	if parts.Status == nil {
		return json.RawMessage("{}"), nil
	}
	return parts.Status, nil
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
