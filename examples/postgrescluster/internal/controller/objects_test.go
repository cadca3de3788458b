package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// load reads an object of the namespace.
func (w *world) load(name string, object client.Object) {
	w.t.Helper()
	w.must(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: name}, object))
}

// list returns what the namespace has of a kind.
func (w *world) list(list client.ObjectList, options ...client.ListOption) []client.Object {
	w.t.Helper()
	w.must(admin.List(w.t.Context(), list, append(options, client.InNamespace(w.object.Namespace))...))
	var objects []client.Object
	w.must(meta.EachListItem(list, func(o runtime.Object) error {
		objects = append(objects, o.(client.Object))
		return nil
	}))
	return objects
}

// labeled returns the names of the pods that have a role.
func (w *world) labeled(role string) string {
	w.t.Helper()
	var names []string
	for _, pod := range w.list(&corev1.PodList{}, client.MatchingLabels{labelRole: role}) {
		names = append(names, pod.GetName())
	}
	return strings.Join(names, ",")
}

// uid returns that of a pod; empty if there is none.
func (w *world) uid(name string) types.UID {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.must(client.IgnoreNotFound(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: name}, pod)))
	return pod.UID
}
