package integration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
)

// deleteExporter deletes the exporter, and the objects that it owns.
func (s *story) deleteExporter() {
	s.t.Helper()
	remove(s.t, s.exporter)
	s.garbageCollect()
}

// isAnnotated checks that the pod is Annotated, its exporter Ready, the agent loaded once,
// and that every object exists once.
func (s *story) isAnnotated(port string) {
	s.t.Helper()
	s.isAnnotatedOf(1, port)
}

// isAnnotatedOf is isAnnotated in a namespace with several exporters.
func (s *story) isAnnotatedOf(exporters int, port string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("%s is not Annotated: %+v", s.pod.Name, a)
	}
	if diff := cmp.Diff(annotatedBy(a, port), s.annotations(s.pod)); diff != "" {
		s.t.Errorf("annotations (-want +got):\n%s", diff)
	}
	owners := 0
	for _, entry := range s.pod.ManagedFields {
		if entry.Manager == string(records.OwnerPodAnnotations) {
			owners++
		}
	}
	if owners != 1 {
		s.t.Errorf("managedFields entries of the operator's annotations: got %d, want 1", owners)
	}
	if loads := s.jvm(s.pod).Loads; loads != 1 {
		s.t.Errorf("loads of the agent: got %d, want 1", loads)
	}
	if get(s.t, s.exporter); !meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady) {
		s.t.Errorf("the exporter is not Ready: %+v", s.exporter.Status)
	}
	if want, got := fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, port), s.endpoints(s.exporter); got != want {
		s.t.Errorf("endpoints of the exporter: got %q, want %q", got, want)
	}
	var services corev1.ServiceList
	if s.list(&services); len(services.Items) != exporters {
		s.t.Errorf("Services: got %d, want %d", len(services.Items), exporters)
	}
}

// isHalted checks that the rollout is halted because a configuration was rejected.
func (s *story) isHalted() {
	s.t.Helper()
	if get(s.t, s.exporter); s.exporter.Status.Halt == nil || s.exporter.Status.Halt.Reason != v1alpha1.ReasonConfigRejected {
		s.t.Errorf("the rollout is not halted for ConfigRejected: %+v", s.exporter.Status)
	}
}

// hasOneDoor checks that no accident added a second ephemeral container, which cannot be
// removed.
func (s *story) hasOneDoor() {
	s.t.Helper()
	if get(s.t, s.pod); len(s.pod.Spec.EphemeralContainers) != 1 {
		s.t.Errorf("ephemeral containers: got %d, want 1", len(s.pod.Spec.EphemeralContainers))
	}
}

// isTakenOut checks that the pod is detached, with no annotation and no JmxAttachment.
func (s *story) isTakenOut() {
	s.t.Helper()
	if left := s.annotations(s.pod); len(left) > 0 {
		s.t.Errorf("annotations of %s: got %v, want none", s.pod.Name, left)
	}
	if a := s.attachment(s.pod); a != nil {
		s.t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
	}
	if j := s.jvm(s.pod); j.Loads != 1 || j.Unloads != 1 || j.Running() {
		s.t.Errorf("the agent: got %d loads, %d unloads and state %s, want one each and not running", j.Loads, j.Unloads, j.Mark.State)
	}
}

// areAnnotated checks that the pod is Annotated, with a JVM in each of its containers; that
// each serves its port, was loaded once and is in EndpointSlices once, and that the
// annotation names the first.
func (s *story) areAnnotated(ports ...string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("%s is not Annotated: %+v", s.pod.Name, a)
	}
	var serve, published []string
	for _, p := range a.Status.Processes {
		serve = append(serve, fmt.Sprint(p.Port))
		published = append(published, fmt.Sprintf("app-0 %s:%d", s.pod.Status.PodIP, p.Port))
	}
	if diff := cmp.Diff(ports, serve); diff != "" {
		s.t.Errorf("ports in the status (-want +got):\n%s", diff)
	}
	slices.Sort(published)
	if diff := cmp.Diff(strings.Join(published, ", "), s.endpoints(s.exporter)); diff != "" {
		s.t.Errorf("endpoints of the exporter (-want +got):\n%s", diff)
	}
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != ports[0] {
		s.t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, ports[0])
	}
	for _, container := range s.pod.Spec.Containers {
		for _, j := range s.containers.Get(s.pod.UID, container.Name).JVMs {
			if j.Exporter == nil && j.Loads != 1 || !j.Running() && j.Exporter == nil {
				s.t.Errorf("loads of the agent in container %s: got %d, want 1", container.Name, j.Loads)
			}
		}
	}
	if get(s.t, s.exporter); len(s.exporter.Status.MetricsEndpoints) != len(ports) {
		s.t.Errorf("status.metricsEndpoints: got %v, want %d", s.exporter.Status.MetricsEndpoints, len(ports))
	}
}
