package integration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// A deleted record lifts no check: in its pod, nothing is executed for a requester who lost the
// right, or in spite of the operator's flags. The endpoint stays, and when nobody selects the pod
// any more, the agent is stopped.
func TestDeletedRecord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pod     func(*corev1.PodSpec)
		allowed map[string][]string
		// lost reports whether the requester loses the right; otherwise the operator loses
		// what it was allowed.
		lost    bool
		because string
	}{
		"the requester lost the right": {pod: func(*corev1.PodSpec) {}, lost: true, because: "NotAuthorized"},
		"the pod is protected": {pod: func(spec *corev1.PodSpec) { spec.HostNetwork = true },
			allowed: map[string][]string{"allow-host-network": nil}, because: "PodProtected"},
		"the container is privileged": {pod: func(spec *corev1.PodSpec) { spec.Containers[0].SecurityContext = isPrivileged },
			allowed: map[string][]string{"allow-privileged": nil}, because: "PodProtected"},
		"the container has a capability": {pod: func(spec *corev1.PodSpec) {
			spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
		}, allowed: map[string][]string{"allow-capabilities": {"SYS_ADMIN"}}, because: "PodProtected"},
		"the container shares its process IDs with a privileged sidecar": {pod: func(spec *corev1.PodSpec) {
			spec.ShareProcessNamespace = new(true)
			spec.InitContainers = []corev1.Container{{
				Name: "agent", Image: "registry.example/agent", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), SecurityContext: isPrivileged,
			}}
		}, allowed: map[string][]string{"allow-privileged": nil}, because: "PodProtected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, right := stampedFleet(t)
			f.allow(tc.allowed)
			pod := aPod("app-0")
			tc.pod(&pod.pod.Spec)
			f.pods = []*corev1.Pod{f.run(pod)}
			f.expect("the requester has the right", isAnnotated)
			f.later(2 * time.Minute)
			f.o.settle()
			agent, published, annotated := f.jvm(f.pods[0]), f.endpoints(f.exporter), f.annotations(f.pods[0])

			if f.allow(nil); tc.lost {
				remove(t, right)
				f.reviewed(false)
				f.later(5 * time.Minute)
			}
			f.containers.Called()
			remove(t, f.attachment(f.pods[0]))
			f.expect("the record is deleted", "Discovered "+tc.because)
			f.expectNotCalled("the record is deleted")
			if got := f.endpoints(f.exporter); got != published {
				t.Errorf("endpoints of the exporter: got %q, want %q", got, published)
			}
			if diff := cmp.Diff(annotated, f.annotations(f.pods[0])); diff != "" {
				t.Errorf("annotations of the pod (-want +got):\n%s", diff)
			}

			f.allow(tc.allowed)
			remove(t, f.exporter)
			f.garbageCollect()
			f.o.settle()
			f.o.outlast()
			if f.containers.Serves(agent) {
				t.Error("the agent is still in the JVM, although the exporter is deleted")
			}
			if left := f.annotations(f.pods[0]); len(left) > 0 {
				t.Errorf("annotations of the pod: got %v, want none", left)
			}
		})
	}
}

// The record is deleted of a pod with two JVMs, and the operator lost the flag that allowed
// one of their containers: its endpoint stays, whatever becomes of the other JVM, and its agent is
// stopped with the exporter.
func TestDeletedRecordOfSeveral(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change    func(*fleet)
		ports     string
		annotated func(*corev1.Pod) map[string]string
	}{
		"the other JVM exits": {
			change: func(f *fleet) { f.setContainer(f.pods[0], crashing("app")) }, ports: "9404",
			annotated: func(pod *corev1.Pod) map[string]string {
				return map[string]string{v1alpha1.AnnotationFlag: selection.AttachmentName(pod)}
			},
		},
		"the exporter names the other container": {
			change: func(f *fleet) {
				change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = []v1alpha1.ContainerName{"app"} })
			}, ports: "9400 9404",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 0, nil)
			allowed := map[string][]string{"allow-privileged": nil}
			f.allow(allowed)
			pod := withWorker()
			pod.pod.Spec.Containers[1].SecurityContext = isPrivileged
			f.pods = []*corev1.Pod{f.run(pod)}
			f.expect("both are allowed", isAnnotated)
			f.later(11 * time.Minute)
			f.o.settle()
			annotated := f.annotations(f.pods[0])

			f.allow(nil)
			remove(t, f.attachment(f.pods[0]))
			f.expect("the record is deleted", isAnnotated)
			f.expectPorts("the record is deleted", "9400 9404")
			tc.change(f)
			f.o.settle()
			f.expectPorts(name, tc.ports)
			if tc.annotated != nil {
				annotated = tc.annotated(f.pods[0])
			}
			if diff := cmp.Diff(annotated, f.annotations(f.pods[0])); diff != "" {
				t.Errorf("annotations of the pod (-want +got):\n%s", diff)
			}

			f.allow(allowed)
			remove(t, f.exporter)
			f.garbageCollect()
			f.o.settle()
			f.o.outlast()
			if f.containers.Serves(f.containers.Get(f.pods[0].UID, "worker").JVMs[0]) {
				t.Error("the agent is still in container worker, although the exporter is deleted")
			}
		})
	}
}

// A container that is no longer allowed, and whose record was deleted, keeps its endpoint until
// it restarts.
func TestDeletedRecordUntilRestart(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 0, nil)
	f.allow(map[string][]string{"allow-privileged": nil})
	pod := aPod("app-0")
	pod.pod.Spec.Containers[0].SecurityContext = isPrivileged
	f.pods = []*corev1.Pod{f.run(pod)}
	f.expect("it is allowed", isAnnotated)
	f.allow(nil)
	remove(t, f.attachment(f.pods[0]))
	f.expect("the record is deleted", "Discovered PodProtected")
	f.expectPorts("the record is deleted", "9400")
	f.restart(f.pods[0])
	f.o.settle()
	f.expectPorts("the container restarts", "")
	if left := f.annotations(f.pods[0]); len(left) > 0 {
		t.Errorf("annotations of the pod: got %v, want none", left)
	}
}

// A protected sidecar that was never attached to keeps no endpoint of its pod.
func TestProtectedSidecarKeepsNoEndpoint(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 0, nil)
	pod := aPod("app-0").container("sidecar")
	pod.pod.Spec.Containers[1].SecurityContext = isPrivileged
	f.pods = []*corev1.Pod{f.run(pod)}
	f.expect("at first", isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	remove(t, f.attachment(f.pods[0]))
	f.expect("the record is deleted", isAnnotated)
	f.expectPorts("the record is deleted", "9400")
	f.setContainer(f.pods[0], crashing("app"))
	f.o.settle()
	f.expectPorts("the JVM exited", "")
}

// allow starts the operator with these flags for protected pods.
func (f *fleet) allow(flags map[string][]string) {
	f.protection = podfacts.Protection{Allowed: flags}
	f.o = f.operate()
}

// expectPorts checks the ports in EndpointSlices of the first pod.
func (f *fleet) expectPorts(when, want string) {
	f.t.Helper()
	if got := f.portsOf(f.pods[0]); got != want {
		f.t.Errorf("%s: ports of %s: got %q, want %q", when, f.pods[0].Name, got, want)
	}
}

var isPrivileged = &corev1.SecurityContext{Privileged: new(true)}
