package podcache

import (
	"maps"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Pods returns a cache transform that trims pods. Those of one controller are equal in most
// of what is kept, and share it: objects of a cache are read-only anyway.
func Pods() toolscache.TransformFunc {
	s := &siblings[corev1.Pod]{}
	return func(object any) (any, error) {
		trimmed, err := Trim(object)
		if pod, ok := trimmed.(*corev1.Pod); ok {
			internPod(pod)
			if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
				s.share(controller.UID, pod, sharePod)
			}
		}
		return trimmed, err
	}
}

func sharePod(pod, sibling *corev1.Pod) {
	replace(&pod.Namespace, sibling.Namespace)
	replace(&pod.Labels, sibling.Labels)
	replace(&pod.OwnerReferences, sibling.OwnerReferences)
	replace(&pod.Spec.Containers, sibling.Spec.Containers)
	replace(&pod.Spec.InitContainers, sibling.Spec.InitContainers)
	replace(&pod.Spec.Volumes, sibling.Spec.Volumes)
}

// Records returns a cache transform for the records, of which all but managedFields is kept.
// What recurs in many of them is in memory once.
func Records() toolscache.TransformFunc {
	s := &siblings[v1alpha1.JmxAttachment]{}
	return func(object any) (any, error) {
		if record, ok := object.(*v1alpha1.JmxAttachment); ok {
			record.ManagedFields = nil
			internRecord(record)
			s.share(record.Spec.Exporter.UID, record, func(record, sibling *v1alpha1.JmxAttachment) {
				replace(&record.Labels, sibling.Labels)
			})
		}
		return object, nil
	}
}

// siblings has the last object of each owner, while it is in the cache.
type siblings[T any] struct {
	mu   sync.Mutex
	last map[types.UID]weak.Pointer[T]
	// limit is the size of last at which owners without objects are removed.
	limit int
}

// share calls do with a new object and the last one of the same owner, if there is one.
func (s *siblings[T]) share(owner types.UID, object *T, do func(object, sibling *T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sibling := s.last[owner].Value(); sibling != nil {
		do(object, sibling)
	}
	if len(s.last) >= s.limit {
		maps.DeleteFunc(s.last, func(_ types.UID, object weak.Pointer[T]) bool { return object.Value() == nil })
		s.limit = 2*len(s.last) + 16
	}
	if s.last == nil {
		s.last = map[types.UID]weak.Pointer[T]{}
	}
	s.last[owner] = weak.Make(object)
}

// replace replaces a value with an equal one that is in memory already.
func replace[T any](value *T, other T) {
	if equality.Semantic.DeepEqual(*value, other) {
		*value = other
	}
}
