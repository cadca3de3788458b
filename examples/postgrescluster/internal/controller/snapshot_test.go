package controller

import (
	"context"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A snapshot is what the namespace of a world has when a reconcile begins, as a cache would have
// it: that reads each object once, and asks for many that do not exist.
type snapshot struct {
	client.Reader
	objects map[string]client.Object
}

func (w *world) snapshot() snapshot {
	w.t.Helper()
	s := snapshot{admin, map[string]client.Object{}}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &batchv1.CronJobList{}, &policyv1.PodDisruptionBudgetList{}} {
		for _, object := range w.list(list) {
			s.objects[identity(object, object.GetName())] = object
		}
	}
	return s
}

func identity(object client.Object, name string) string { return fmt.Sprintf("%T %s", object, name) }

// Get gives away the object itself, not a copy.
func (s snapshot) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, ok := s.objects[identity(object, key.Name)]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, key.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}
