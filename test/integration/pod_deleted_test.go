package integration

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// The pod is deleted at each effect: nothing remains, and nothing is recreated under its
// name.
func TestPodGoneMidway(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*story, *operator) {
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0"))
		s.exporter = s.export("exporter")
		return s, o
	}
	_, o := begin(t)
	o.settle()
	for n, effect := range o.did() {
		t.Run(fmt.Sprintf("%d %s", n, effect), func(t *testing.T) {
			t.Parallel()
			s, o := begin(t)
			happened := false
			o.fate = func(i int, _ effects.Effect, do func() error) error {
				if i == n {
					happened = true
					remove(t, s.pod)
				}
				return do()
			}
			for range 8 {
				_, _ = o.round()
			}
			if !happened {
				t.Fatal("the effect did not occur again")
			}
			s.garbageCollect()
			o.settle()
			var pods corev1.PodList
			if s.list(&pods); len(pods.Items) > 0 {
				t.Errorf("the pod was recreated: %v", pods.Items)
			}
			if got := s.endpoints(s.exporter); got != "" {
				t.Errorf("endpoints of the exporter: got %q, want none", got)
			}
			if get(t, s.exporter); s.exporter.Status.Matched != 0 || s.exporter.Status.Phase != v1alpha1.PhasePending {
				t.Errorf("the exporter still counts the pod: %+v", s.exporter.Status)
			}
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
		})
	}
}
