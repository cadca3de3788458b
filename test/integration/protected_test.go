package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// A protected pod is counted by a preflight and refused by an attach, without any exec;
// its flag allows it. A pod that is attached keeps serving without the flag,
// until its JVM exits.
func TestPodProtected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		namespace string
		pod       func(*corev1.PodSpec)
		flag      string
		lists     []string
	}{
		"the pod is in kube-system":              {namespace: metav1.NamespaceSystem, flag: "--allow-kube-system"},
		"the pod is in the operator's namespace": {flag: "--allow-own-namespace"},
		"the pod uses hostPID":                   {flag: "--allow-host-pid", pod: func(spec *corev1.PodSpec) { spec.HostPID = true }},
		"the pod uses hostNetwork":               {flag: "--allow-host-network", pod: func(spec *corev1.PodSpec) { spec.HostNetwork = true }},
		"the pod uses hostIPC":                   {flag: "--allow-host-ipc", pod: func(spec *corev1.PodSpec) { spec.HostIPC = true }},
		"a container is privileged": {flag: "--allow-privileged", pod: func(spec *corev1.PodSpec) {
			spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		}},
		"a container has capabilities": {flag: "--allow-capabilities=SYS_ADMIN,SYS_PTRACE", lists: []string{"ALL"}, pod: func(spec *corev1.PodSpec) {
			spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN", "SYS_PTRACE"}}}
		}},
		"a container mounts the node's files": {flag: "--allow-host-paths=/", lists: []string{"/"}, pod: func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "node", MountPath: "/node", ReadOnly: true}}
		}},
		"a privileged sidecar shares the process IDs": {flag: "--allow-privileged", pod: func(spec *corev1.PodSpec) {
			spec.ShareProcessNamespace = new(true)
			spec.InitContainers = []corev1.Container{{
				Name: "agent", Image: "registry.example/agent", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
				SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fleet{cluster: newCluster(t)}
			var own string
			switch {
			case tc.namespace != "":
				f.namespace = tc.namespace
			case tc.pod == nil:
				own = f.namespace
			}
			operate := func(is podfacts.Protection) {
				f.protection = is
				f.protection.OwnNamespace = own
				f.o = f.operate()
				f.o.settle()
				f.later(5 * time.Second)
			}
			pod := aPod("app-0")
			if tc.pod != nil {
				tc.pod(&pod.pod.Spec)
			}
			f.pods = []*corev1.Pod{f.run(pod)}
			f.configure(rules)
			f.exporter = f.preflight("exporter")

			operate(podfacts.Protection{})
			f.expectFound("the mode is Preflight", f.exporter, "0/1, pending 0, PodProtected 1 app-0, True PodsInspected")
			f.mode(f.exporter, v1alpha1.ModeAttach)
			f.expect("the mode is Attach", "Discovered PodProtected")
			f.expectSums("the mode is Attach", "1/0/1, Ready False PodsRefused, Stalled True PodsRefused")
			if says := meta.FindStatusCondition(f.attachment(f.pods[0]).Status.Conditions, "JavaFound").Message; !strings.Contains(says, tc.flag+".") {
				t.Errorf("message of JavaFound does not name the flag: %q", says)
			}
			f.expectNotCalled("the mode is Attach")

			flag, _, _ := strings.Cut(strings.TrimPrefix(tc.flag, "--"), "=")
			operate(podfacts.Protection{Allowed: map[string][]string{flag: tc.lists}})
			f.expect("the operator has the flag", isAnnotated)
			f.later(2 * time.Minute)
			f.o.settle()
			published := f.endpoints(f.exporter)

			operate(podfacts.Protection{})
			f.configure(changed)
			f.expectAsked("the operator lost the flag", "2")
			f.later(2 * time.Minute)
			f.expect("the operator lost the flag", isAnnotated)
			if got := f.endpoints(f.exporter); got != published || got == "" {
				t.Errorf("endpoints of the exporter: got %q, want %q", got, published)
			}
			f.containers.Called()

			f.restart(f.pods[0])
			f.expect("the container restarts", "Discovered PodProtected")
			if got := f.endpoints(f.exporter); got != "" {
				t.Errorf("endpoints of the exporter: got %q, want none", got)
			}
			remove(t, f.exporter)
			f.garbageCollect()
			f.o.outlast()
			if a := f.attachment(f.pods[0]); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
			f.expectNotCalled("the pod's remaining lifetime")
		})
	}
}

// Nothing is executed in a container while somebody debugs it with a privileged ephemeral
// container, which shares its process IDs; when that has ended, the container is attached to.
func TestDebuggedContainer(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: newCluster(t)}
	pod := f.run(aPod("app-0"))
	f.pods = []*corev1.Pod{pod}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", Image: "registry.example/debugger", SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
		ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}}}
	if err := admin.SubResource("ephemeralcontainers").Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	debuggerIs := func(state corev1.ContainerState) {
		f.changeStatus(pod, func(status *corev1.PodStatus) {
			status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: state}}
		})
	}
	debuggerIs(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	f.configure(rules)
	f.exporter = f.export("exporter")
	f.o = f.operate()
	f.expect("a debugger runs", "Discovered PodProtected")
	f.expectNotCalled("a debugger runs")

	debuggerIs(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	f.expect("the debugger has ended", isAnnotated)
}

// expectNotCalled checks that nothing was executed in any container since the previous call.
func (f *fleet) expectNotCalled(when string) {
	f.t.Helper()
	if called := f.containers.Called(); len(called) > 0 {
		f.t.Errorf("%s: helper operations: got %v, want none", when, called)
	}
}
