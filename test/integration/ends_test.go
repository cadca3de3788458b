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

// deleteExporter deletes the exporter, and with it what it owns.
func (s *story) deleteExporter() {
	s.t.Helper()
	remove(s.t, s.exporter)
	s.garbageCollect()
}

// isAnnotated: the pod is Annotated, its exporter Ready, the agent was loaded
// once, and everything is there once.
func (s *story) isAnnotated(port string) {
	s.t.Helper()
	s.isAnnotatedOf(1, port)
}

// isAnnotatedOf is isAnnotated in a namespace with several exporters.
func (s *story) isAnnotatedOf(exporters int, port string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("the pod is not Annotated: %+v", a)
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
		s.t.Errorf("the annotations are owned by us %d times", owners)
	}
	if loads := s.jvm(s.pod).loads; loads != 1 {
		s.t.Errorf("the agent was loaded %d times", loads)
	}
	if get(s.t, s.exporter); !meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady) {
		s.t.Errorf("the exporter is not Ready: %+v", s.exporter.Status)
	}
	if want, got := fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, port), s.endpoints(s.exporter); got != want {
		s.t.Errorf("published is %q, not %q", got, want)
	}
	var services corev1.ServiceList
	if s.list(&services); len(services.Items) != exporters {
		s.t.Errorf("there are %d Services", len(services.Items))
	}
}

// isHalted: the exporter goes no further, since a configuration was rejected.
func (s *story) isHalted() {
	s.t.Helper()
	if get(s.t, s.exporter); s.exporter.Status.Halt == nil || s.exporter.Status.Halt.Reason != v1alpha1.ReasonConfigRejected {
		s.t.Errorf("the exporter is not halted: %+v", s.exporter.Status)
	}
}

// hasOneDoor: no accident had a second ephemeral container added, which nobody could
// remove.
func (s *story) hasOneDoor() {
	s.t.Helper()
	if get(s.t, s.pod); len(s.pod.Spec.EphemeralContainers) != 1 {
		s.t.Errorf("the pod has %d ephemeral containers", len(s.pod.Spec.EphemeralContainers))
	}
}

// isTakenOut: nothing of ours is left on the pod, and no record.
func (s *story) isTakenOut() {
	s.t.Helper()
	if left := s.annotations(s.pod); len(left) > 0 {
		s.t.Errorf("annotations are left: %v", left)
	}
	if a := s.attachment(s.pod); a != nil {
		s.t.Errorf("the record is left: %+v", a.Status)
	}
	if j := s.jvm(s.pod); j.loads != 1 || j.unloads != 1 || j.running() {
		s.t.Errorf("the agent was loaded %d times, stopped %d times, and is %s", j.loads, j.unloads, j.Mark.State)
	}
}

// areAnnotated: the pod is Annotated, with a JVM in each of its containers; each
// serves its port, was loaded into once and is published once, and the annotation
// names the first.
func (s *story) areAnnotated(ports ...string) {
	s.t.Helper()
	a := s.attachment(s.pod)
	if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
		s.t.Fatalf("the pod is not Annotated: %+v", a)
	}
	var serve, published []string
	for _, p := range a.Status.Processes {
		serve = append(serve, fmt.Sprint(p.Port))
		published = append(published, fmt.Sprintf("app-0 %s:%d", s.pod.Status.PodIP, p.Port))
	}
	if diff := cmp.Diff(ports, serve); diff != "" {
		s.t.Errorf("ports (-want +got):\n%s", diff)
	}
	slices.Sort(published)
	if diff := cmp.Diff(strings.Join(published, ", "), s.endpoints(s.exporter)); diff != "" {
		s.t.Errorf("published (-want +got):\n%s", diff)
	}
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != ports[0] {
		s.t.Errorf("the annotation names port %s", got)
	}
	for _, container := range s.pod.Spec.Containers {
		for _, j := range s.containers.get(s.pod.UID, container.Name).jvms {
			if j.Exporter == nil && j.loads != 1 || !j.running() && j.Exporter == nil {
				s.t.Errorf("in container %s the agent was loaded %d times", container.Name, j.loads)
			}
		}
	}
	if get(s.t, s.exporter); len(s.exporter.Status.MetricsEndpoints) != len(ports) {
		s.t.Errorf("the exporter lists %v", s.exporter.Status.MetricsEndpoints)
	}
}
