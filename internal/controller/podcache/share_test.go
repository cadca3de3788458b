package podcache

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func owned(controller types.UID, name string) *corev1.Pod {
	pod := full()
	pod.Name, pod.Labels = name, map[string]string{"app": "dummyapp"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "app", UID: controller, Controller: new(true)}}
	return pod
}

// Whatever pods share, each is as it is without the others.
func TestShare(t *testing.T) {
	changes := map[string]func(*corev1.Pod){
		"nothing":      func(*corev1.Pod) {},
		"labels":       func(pod *corev1.Pod) { pod.Labels["app"] = "other" },
		"no labels":    func(pod *corev1.Pod) { pod.Labels = nil },
		"owner":        func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "other" },
		"no owner":     func(pod *corev1.Pod) { pod.OwnerReferences = nil },
		"containers":   func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = nil },
		"init":         func(pod *corev1.Pod) { pod.Spec.InitContainers = nil },
		"volumes":      func(pod *corev1.Pod) { pod.Spec.Volumes[0].EmptyDir = nil },
		"node":         func(pod *corev1.Pod) { pod.Spec.NodeName = "node-2" },
		"opted in":     func(pod *corev1.Pod) { delete(pod.Annotations, "banzaicloud.com/jmx-exporter-opt-out") },
		"other fields": func(pod *corev1.Pod) { pod.Status, pod.UID = corev1.PodStatus{}, "uid-1" },
	}
	for name, change := range changes {
		transform := Pods()
		first, second := owned("a", "app-0"), owned("a", "app-1")
		change(second)
		for _, pod := range []*corev1.Pod{first, second, first} {
			got, err := transform(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trimmed(t, pod.DeepCopy()), got); diff != "" {
				t.Errorf("%s differs: %s (-want +got):\n%s", name, pod.Name, diff)
			}
		}
	}
}

// What records have in common does not change them.
func TestShareRecords(t *testing.T) {
	transform := Records()
	for _, labels := range []map[string]string{{"a": "b"}, {"a": "b"}, nil, {"a": "c"}, {"a": "b"}} {
		want := sample[v1alpha1.JmxAttachment](t, "testdata/record.yaml")
		want.Labels = labels
		given := want.DeepCopy()
		given.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"}}
		got, err := transform(given)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("record: %v (-want +got):\n%s", err, diff)
		}
	}
}

// Owners without objects are removed.
func TestSiblingsEnd(t *testing.T) {
	s := &siblings[corev1.Pod]{}
	for i := range 1000 {
		s.share(types.UID(fmt.Sprint(i)), &corev1.Pod{}, sharePod)
		if i%10 == 0 {
			runtime.GC()
		}
	}
	if n := len(s.last); n > 100 {
		t.Errorf("owners: got %d, want at most 100", n)
	}
}
