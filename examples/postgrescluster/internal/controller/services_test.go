package controller

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// A member's own Service is restored like those that clients use, whatever somebody changed of
// it, and what others added stays.
func TestMemberServiceIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	service := &corev1.Service{}
	read := func() *corev1.Service {
		t.Helper()
		service = &corev1.Service{}
		w.load("db-0", service)
		return service
	}
	stated := read().DeepCopy()
	for name, change := range map[string]func(){
		"its selector":     func() { service.Spec.Selector[labelMember] = "db-1" },
		"a selector added": func() { service.Spec.Selector["example.com/none"] = "true" },
		"its target port":  func() { service.Spec.Ports[0].TargetPort = intstr.FromInt32(15432) },
		"not ready":        func() { service.Spec.PublishNotReadyAddresses = false },
		"a label":          func() { service.Labels["app.kubernetes.io/name"] = "another" },
		"no labels":        func() { service.Labels = nil },
	} {
		read()
		change()
		service.Annotations["example.com/owner"] = "somebody"
		w.must(admin.Update(t.Context(), service, client.FieldOwner("somebody")))
		w.until("the Service as it was before somebody changed "+name, func(*v1.PostgresClusterStatus) bool {
			read()
			return maps.Equal(service.Labels, stated.Labels) && maps.Equal(service.Spec.Selector, stated.Spec.Selector) &&
				slices.Equal(service.Spec.Ports, stated.Spec.Ports) && service.Spec.PublishNotReadyAddresses
		})
		if service.UID != stated.UID || service.Annotations["example.com/owner"] != "somebody" {
			t.Errorf("%s: it is another Service, or has the annotations %v", name, service.Annotations)
		}
	}
	w.completes(1)
	w.idles(5, "while nothing differs")
}
