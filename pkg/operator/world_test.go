package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// batch is a kind of a toy operator.
type batch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Status            batchStatus `json:"status,omitzero"`
}

type batchStatus struct {
	statemachine.Record `json:",inline"`
	Liters              int32 `json:"liters"`
}

func (b *batch) DeepCopyObject() runtime.Object {
	c := *b
	c.Status.Record = *b.Status.DeepCopy()
	return &c
}

var (
	breweryVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}
	noon           = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// world is an API server for one batch and the Deployment that the operator applies for it. The
// examples run on a real one.
type world struct {
	client.Client
	t     *testing.T
	clock *clocktesting.FakePassiveClock
	batch *batch
	// deployment is that of the batch's name; nil if there is none.
	deployment *appsv1.Deployment
	// err is the answer to each write; nil for success.
	err error
	// log has all writes, in order.
	log []string
	// applied is the last one, in JSON.
	applied map[string]any
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(noon), batch: &batch{}}
	w.batch.ObjectMeta = metav1.ObjectMeta{Namespace: "brewery", Name: "ale", UID: "uid-of-ale", ResourceVersion: "1", Generation: 3}
	w.batch.Status.ObservedGeneration = -1
	return w
}

func (w *world) writer() *apply.Client { return apply.New(w, effects.Direct) }

func (w *world) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	if _, ok := object.(*batch); !ok {
		return schema.GroupVersionKind{}, fmt.Errorf("unknown kind %T", object)
	}
	return breweryVersion.WithKind("Batch"), nil
}

func (w *world) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if w.deployment == nil || client.ObjectKeyFromObject(w.deployment) != key {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name)
	}
	w.deployment.DeepCopyInto(object.(*appsv1.Deployment))
	return nil
}

func (w *world) Apply(_ context.Context, ac runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return w.write("object", ac)
}

func (w *world) Status() client.SubResourceWriter { return statusOf{world: w} }

type statusOf struct {
	client.SubResourceWriter
	*world
}

func (s statusOf) Apply(_ context.Context, ac runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return s.write("status", ac)
}

// write answers like an API server: with another resource version, and what it has added.
func (w *world) write(what string, ac runtime.ApplyConfiguration) error {
	data, err := json.Marshal(ac)
	if err != nil {
		return err
	}
	w.applied = map[string]any{}
	if err := json.Unmarshal(data, &w.applied); err != nil {
		return err
	}
	w.log = append(w.log, what)
	if w.err != nil {
		return w.err
	}
	answer := map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(len(w.log) + 1), "generation": 99}, "status": map[string]any{"x": 1}}
	data, err = json.Marshal(answer)
	return errors.Join(err, json.Unmarshal(data, ac))
}

// metadata returns the metadata of the last write.
func (w *world) metadata() map[string]any { return w.applied["metadata"].(map[string]any) }
