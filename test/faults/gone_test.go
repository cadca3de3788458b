package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// deletions are the orders in which the objects of a namespace go that is deleted. The namespace
// controller, whose work the tests do, deletes all kinds at once, and waits for pods that
// terminate, or for an API that does not answer.
var deletions = []struct {
	what        string
	first, last func(*run)
}{
	{"its pods terminate", func(r *run) { r.empty(); r.terminatePod() }, (*run).vanish},
	{"its records are left", (*run).vanish, (*run).empty},
}

// planNamespaces deletes the namespace at each effect.
func planNamespaces(effects []occurrence) (all []plan) {
	for _, d := range deletions {
		for _, at := range effects {
			s := &strike{Effect: at.name, Nth: at.nth, Action: waits}
			all = append(all, plan{
				class: "namespace deleted at an effect, " + d.what, name: fmt.Sprintf("namespace deleted, %s, %s", d.what, s),
				lasts: 3 * time.Second, writes: goneWrites, execs: 1,
				arm: func(_ *run, spec *operatorSpec) { spec.Strike = s },
				meanwhile: func(r *run) {
					r.must(admin.Delete(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
					d.first(r)
				},
				afterwards: d.last, ends: (*run).nothingLeft, met: (*run).struck,
			})
		}
	}
	return all
}

// goneWrites is how many writes there may be more for what is about to go.
const goneWrites = 6

// terminatePod deletes the pod, whose container runs on.
func (r *run) terminatePod() {
	r.t.Helper()
	r.must(admin.Delete(r.t.Context(), r.pod, client.GracePeriodSeconds(30)))
}

// vanish ends the pod for good, as the kubelet does.
func (r *run) vanish() {
	r.t.Helper()
	r.mu.Lock()
	r.spent = append(r.spent, r.containers.Get(r.pod.UID, containerName))
	r.containers.Remove(r.pod.UID, containerName)
	r.mu.Unlock()
	r.must(client.IgnoreNotFound(admin.Delete(r.t.Context(), r.pod, client.GracePeriodSeconds(0))))
	total := r.total()
	r.gone = &total
}

// kinds are those of which a scenario has objects, pods aside.
func kinds() []client.ObjectList {
	return []client.ObjectList{
		&corev1.ConfigMapList{}, &v1alpha1.PrometheusJmxExporterList{}, &v1alpha1.JmxAttachmentList{},
		&corev1.ServiceList{}, &discoveryv1.EndpointSliceList{},
	}
}

// empty deletes everything in the namespace but the pod.
func (r *run) empty() {
	r.t.Helper()
	r.remember()
	r.must(r.each(r.t.Context(), func(o client.Object) error {
		return client.IgnoreNotFound(admin.Delete(r.t.Context(), o))
	}, kinds()...))
}

// nothingLeft reports whether the namespace is empty.
func (r *run) nothingLeft(ctx context.Context) bool {
	left := errors.New("an object is left")
	return r.each(ctx, func(client.Object) error { return left }, append(kinds(), &corev1.PodList{})...) == nil
}
