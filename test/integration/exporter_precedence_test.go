package integration

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The older of two exporters keeps the pod, and the younger reports its name and takes the
// pod over when the older is deleted: the agent is reconfigured, not loaded again.
func TestTwoExporters(t *testing.T) {
	t.Parallel()
	type exporter = v1alpha1.PrometheusJmxExporter
	again := func(t *testing.T, exporters ...*exporter) {
		for _, e := range exporters {
			remove(t, e)
			e.ObjectMeta = metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}
		}
	}
	cases := map[string]struct {
		create func(t *testing.T, first, second *exporter)
		// keeps returns the exporter that keeps the pod.
		keeps func(first, second *exporter) *exporter
	}{
		"the older exporter keeps the pod": {
			create: func(t *testing.T, first, second *exporter) {
				create(t, first)
				eventually(t, func() bool {
					if create(t, second); first.CreationTimestamp.Before(&second.CreationTimestamp) {
						return true
					}
					again(t, second)
					return false
				})
			},
			keeps: func(first, _ *exporter) *exporter { return first },
		},
		"of two exporters of the same second, the lower UID keeps the pod": {
			create: func(t *testing.T, first, second *exporter) {
				eventually(t, func() bool {
					create(t, first)
					if create(t, second); first.CreationTimestamp.Equal(&second.CreationTimestamp) {
						return true
					}
					again(t, first, second)
					return false
				})
			},
			keeps: func(first, second *exporter) *exporter {
				if second.UID < first.UID {
					return second
				}
				return first
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(aPod("app-0"))
			s.configure(rules)
			first, second := s.anExporter("z-first"), s.anExporter("a-second")
			first.Spec.Port, second.Spec.Port = 9401, 9402
			tc.create(t, first, second)
			keeps, waits := first, second
			if tc.keeps(first, second) == second {
				keeps, waits = second, first
			}

			o.settle()
			s.exporter = keeps
			s.isAnnotatedOf(2, fmt.Sprint(keeps.Spec.Port))
			get(t, waits)
			if waits.Status.Phase != v1alpha1.PhaseRefused || waits.Status.Pods != "0/1" || waits.Status.Refused != 1 {
				t.Errorf("status of the other exporter: got %+v, want Refused 0/1", waits.Status)
			}
			want := fmt.Sprintf("Refused pods: app-0: PodClaimed by the older exporter %s.", keeps.Name)
			if ready := meta.FindStatusCondition(waits.Status.Conditions, v1alpha1.ConditionReady); ready.Message != want {
				t.Errorf("message of the other exporter: got %q, want %q", ready.Message, want)
			}
			if events := o.events.with(v1alpha1.ReasonPodsRefused); len(events) != 1 || events[0].Note != want {
				t.Errorf("%s Events: got %v, want one with the expected note", v1alpha1.ReasonPodsRefused, events)
			}

			remove(t, keeps)
			s.garbageCollect()
			o.settle()
			s.exporter = waits
			s.isAnnotated(fmt.Sprint(waits.Spec.Port))
		})
	}
}
