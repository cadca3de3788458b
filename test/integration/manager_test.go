package integration

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The operator as cmd/manager runs it, with its cache and its watches: every event
// triggers a reconciliation, which reaches the right end without help.
func TestManager(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	mgr, err := manager.New(config, manager.Options{
		Namespaces: []string{s.namespace}, MetricsAddress: "0", HealthAddress: "0", Concurrent: 4, Seam: effects.Direct, HealthCheckInterval: 200 * time.Millisecond,
		Sessions: func() attachment.Session { return perCall{s.containers.Through(effects.Direct)} }, Limits: transport.NewLimits(4, 4, 4), Prober: s.containers.Prober(effects.Direct), Artifacts: artifacts,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	isAnnotated := func(t *testing.T, port string) {
		t.Helper()
		// The exporter follows the record by up to a second, so its status may be the one from before.
		var since time.Time
		eventually(t, func() bool {
			a := s.attachment(s.pod)
			get(t, s.exporter)
			holds := a != nil && a.Status.Phase == v1alpha1.PhaseAnnotated && s.annotations(s.pod)["prometheus.io/port"] == port &&
				s.endpoints(s.exporter) != "" && s.exporter.Status.Pods == "1/1" && len(s.exporter.Status.MetricsEndpoints) == 1 &&
				meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady)
			if !holds || since.IsZero() {
				since = time.Now()
			}
			return holds && time.Since(since) > 2*time.Second
		})
		s.t = t
		s.isAnnotated(port)
	}
	isTakenOut := func(t *testing.T) {
		t.Helper()
		eventually(t, func() bool { return s.attachment(s.pod) == nil && s.endpoints(s.exporter) == "" })
		if left := s.annotations(s.pod); left["prometheus.io/port"] != "" {
			t.Errorf("annotations of the terminating pod: got %v, want none", left)
		}
	}
	uid := func() types.UID { return s.slices(s.exporter)[0].UID }

	s.exporter = s.export("exporter")
	s.neverHalt() // containers are replaced soon after each attach
	s.pod = s.run(aPod("app-0"))
	happens := []struct {
		what string
		test func(*testing.T)
	}{
		{"an exporter and a pod are created", func(t *testing.T) { isAnnotated(t, "9400") }},
		{"the ConfigMap changes", func(t *testing.T) {
			before := s.attachment(s.pod).Status.Processes[0].Staged.ConfigSHA256
			s.configure("lowercaseOutputName: true\n" + rules)
			eventually(t, func() bool { return s.attachment(s.pod).Status.Processes[0].ConfigSHA256 != before })
			isAnnotated(t, "9400")
		}},
		{"the ConfigMap is invalid, and is corrected", func(t *testing.T) {
			valid := func() *metav1.Condition {
				get(t, s.exporter)
				return meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
			}
			before := s.attachment(s.pod).ResourceVersion
			s.configure("rules: {")
			eventually(t, func() bool { return valid().Reason == v1alpha1.ReasonConfigNotYAML })
			if after := s.attachment(s.pod); after.ResourceVersion != before {
				t.Errorf("the JmxAttachment was written; its phase is %s", phaseOf(after))
			}
			s.configure(rules)
			eventually(t, func() bool { return valid().Status == metav1.ConditionTrue })
			isAnnotated(t, "9400")
		}},
		{"the EndpointSlice is deleted", func(t *testing.T) {
			before := uid()
			remove(t, &s.slices(s.exporter)[0])
			eventually(t, func() bool { return s.endpoints(s.exporter) != "" && uid() != before })
			isAnnotated(t, "9400")
		}},
		{"the Service is deleted", func(t *testing.T) {
			get(t, s.exporter)
			service := &corev1.Service{ObjectMeta: s.named(s.exporter.Status.ServiceName)}
			remove(t, service)
			eventually(t, func() bool { return get(t, service) })
		}},
		{"an annotation is removed", func(t *testing.T) {
			change(t, s.pod, func(pod *corev1.Pod) { delete(pod.Annotations, "prometheus.io/port") })
			isAnnotated(t, "9400")
		}},
		{"the JmxAttachment is deleted", func(t *testing.T) {
			remove(t, s.attachment(s.pod))
			isAnnotated(t, "9400")
		}},
		{"the port changes", func(t *testing.T) {
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
			isAnnotated(t, "9500")
		}},
		{"the container is replaced", func(t *testing.T) {
			before := s.pod.Status.ContainerStatuses[0].ContainerID
			s.restart(s.pod)
			eventually(t, func() bool {
				a := s.attachment(s.pod)
				return len(a.Status.Processes) == 1 && a.Status.Processes[0].ContainerID != before
			})
			isAnnotated(t, "9500")
		}},
		{"the JVM is replaced in its running container", func(t *testing.T) {
			another := aJVM(javaStartTime + 1000000)
			s.containers.Replace(s.container(s.pod), another)
			eventually(t, func() bool {
				a := s.attachment(s.pod)
				return len(a.Status.Processes) == 1 && a.Status.Processes[0].StartTime == int64(another.StartTime)
			})
			s.containers.Mend()
			isAnnotated(t, "9500")
		}},
		{"the pod's label changes", func(t *testing.T) {
			change(t, s.pod, func(pod *corev1.Pod) { pod.Labels["app"] = "other" })
			isTakenOut(t)
		}},
		{"the pod's label is restored", func(t *testing.T) {
			change(t, s.pod, func(pod *corev1.Pod) { pod.Labels["app"] = "dummyapp" })
			isAnnotated(t, "9500")
		}},
		{"another exporter takes over", func(t *testing.T) {
			heir := create(t, s.anExporter("heir"))
			eventually(t, func() bool { return get(t, heir) && heir.Status.Refused == 1 })
			remove(t, s.exporter)
			s.garbageCollect()
			s.exporter = heir
			isAnnotated(t, "9400")
		}},
		{"the exporter is deleted", func(t *testing.T) {
			remove(t, s.exporter)
			s.garbageCollect()
			isTakenOut(t)
		}},
	}
	for _, event := range happens {
		if !t.Run(event.what, func(t *testing.T) { s.t = t; event.test(t) }) {
			break
		}
	}
	s.t = t
}
