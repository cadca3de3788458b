package integration

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// manage starts the operator as cmd/manager runs it, and returns a function that stops it.
func (c *cluster) manage() (stop func()) {
	c.t.Helper()
	mgr, err := manager.New(config, manager.Options{
		Namespaces: []string{c.namespace}, MetricsAddress: "0", HealthAddress: "0", Concurrent: 4, Seam: effects.Direct,
		Sessions: func() attachment.Session { return perCall{c.containers.Through(effects.Direct)} }, Limits: transport.NewLimits(4, 4, 4), Prober: c.containers.Prober(effects.Direct), Artifacts: artifacts,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
}

// The exporter and its JmxAttachments are deleted, as by `kubectl delete monitoring --all`:
// no object refers to the pod any more, and it is still detached.
func TestOrphaned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pod *podBuilder
		// way deletes both.
		way  func(s *story, stop func()) func()
		left int // annotations that remain
	}{
		"the JmxAttachment is deleted first": {pod: aPod("app-0"), way: func(s *story, stop func()) func() {
			remove(s.t, s.attachment(s.pod))
			remove(s.t, s.exporter)
			return stop
		}},
		"the exporter is deleted first, and the pod is detaching": {pod: aPod("app-0"), way: func(s *story, stop func()) func() {
			s.containers.Fail(helperapi.VerbUnload, v1alpha1.ReasonAttachTimeout)
			remove(s.t, s.exporter)
			s.garbageCollect()
			eventually(s.t, func() bool {
				a := s.attachment(s.pod)
				return a != nil && a.Status.Attempt != nil && a.Status.DetachStartTime != nil && s.annotations(s.pod)["prometheus.io/port"] == ""
			})
			remove(s.t, s.attachment(s.pod))
			s.containers.Mend()
			return stop
		}},
		"both are deleted while no operator runs": {pod: aPod("app-0"), way: func(s *story, stop func()) func() {
			stop()
			remove(s.t, s.exporter)
			remove(s.t, s.attachment(s.pod))
			return s.manage()
		}},
		"the pod has foreign annotations": {pod: aPod("app-0").annotated("prometheus.io/scrape", "true"), way: func(s *story, stop func()) func() {
			remove(s.t, s.attachment(s.pod))
			remove(s.t, s.exporter)
			return stop
		}, left: 1},
		"the pod has foreign annotations, and both are deleted while no operator runs": {pod: aPod("app-0").annotated("prometheus.io/scrape", "true"), way: func(s *story, stop func()) func() {
			stop()
			remove(s.t, s.exporter)
			remove(s.t, s.attachment(s.pod))
			return s.manage()
		}, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			stop := s.manage()
			defer func() { stop() }()
			s.pod = s.run(tc.pod)
			s.exporter = s.export("exporter")
			eventually(t, func() bool {
				a := s.attachment(s.pod)
				return a != nil && meta.IsStatusConditionTrue(a.Status.Conditions, string(v1alpha1.PhaseExposed)) &&
					(a.Status.Phase == v1alpha1.PhaseAnnotated || a.Status.Reason == v1alpha1.ReasonAnnotationConflict)
			})
			agent := s.jvm(s.pod)
			stop = tc.way(s, stop)
			s.garbageCollect()
			eventually(t, func() bool { return !s.containers.Serves(agent) })
			eventually(t, func() bool { return s.attachment(s.pod) == nil })
			if left := s.annotations(s.pod); len(left) != tc.left {
				t.Errorf("annotations of %s: got %v, want %d", s.pod.Name, left, tc.left)
			}
		})
	}
}
