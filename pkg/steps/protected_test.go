package steps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

const ownNamespace = "jmx-exporter-system"

var (
	inKubeSystem   = func(pod *corev1.Pod) { pod.Namespace = "kube-system" }
	inOwnNamespace = func(pod *corev1.Pod) { pod.Namespace = ownNamespace }
	sharesPIDs     = func(pod *corev1.Pod) { pod.Spec.HostPID = true }
	sharesNetwork  = func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }
	privileged     = func(pod *corev1.Pod) {
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	}
)

func adds(capabilities ...corev1.Capability) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: capabilities}}
	}
}

// mounts has the container mount a path of the node.
func mounts(path string, mount corev1.VolumeMount) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		mount.Name = "node"
		pod.Spec.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{mount}
	}
}

// beside adds a second container to the pod, in which only it has a power.
func beside(power func(*corev1.Pod), share bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		power(pod)
		pod.Spec.ShareProcessNamespace = &share
		pod.Spec.Containers[0].Name = "agent"
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "a"})
	}
}

// Each power over the node is refused before anything is executed in the pod, with a
// message that names the power and its flag, which allows it and no other.
func TestPodProtected(t *testing.T) {
	for name, tc := range map[string]struct {
		pod   func(*corev1.Pod)
		says  string
		flag  string
		lists []string
	}{
		"the pod is in kube-system":              {pod: inKubeSystem, says: "The pod is in namespace kube-system; ", flag: "--allow-kube-system"},
		"the pod is in the operator's namespace": {pod: inOwnNamespace, says: "The pod is in the operator's own namespace; ", flag: "--allow-own-namespace"},
		"the pod uses hostPID":                   {pod: sharesPIDs, says: "The pod shares the node's process IDs (hostPID); ", flag: "--allow-host-pid"},
		"the pod uses hostNetwork":               {pod: sharesNetwork, says: "The pod shares the node's network (hostNetwork); ", flag: "--allow-host-network"},
		"the pod uses hostIPC": {pod: func(pod *corev1.Pod) { pod.Spec.HostIPC = true },
			says: "The pod shares the node's shared memory (hostIPC); ", flag: "--allow-host-ipc"},
		"a container is privileged": {pod: privileged, says: "Container a: The container is privileged; ", flag: "--allow-privileged"},
		"a container has capabilities": {pod: adds("CHOWN", "SYS_ADMIN", "SYS_PTRACE"),
			says: "Container a: The container has capabilities with power over the node (SYS_ADMIN, SYS_PTRACE); ", flag: "--allow-capabilities=SYS_ADMIN,SYS_PTRACE",
			lists: []string{"SYS_ADMIN", "SYS_PTRACE"}},
		"a container mounts the node's files": {pod: mounts("/", corev1.VolumeMount{ReadOnly: true}),
			says: "Container a: The container mounts hostPath volumes of the node's system (/); ", flag: "--allow-host-paths=/", lists: []string{"/"}},
		"a privileged container shares its process IDs": {pod: beside(privileged, true),
			says: "Container a: The container shares its process IDs (shareProcessNamespace) with container agent, which is privileged; ", flag: "--allow-privileged"},
	} {
		t.Run(name, func(t *testing.T) {
			without, only := map[string][]string{"allow-capabilities": {"ALL"}, "allow-host-paths": {"/"}}, map[string][]string{}
			for _, power := range pod.Powers() {
				if power.List == "" {
					without[power.Flag] = nil
				}
			}
			allows, _, _ := strings.Cut(strings.TrimPrefix(tc.flag, "--"), "=")
			delete(without, allows)
			only[allows] = tc.lists
			for _, allowed := range []map[string][]string{nil, without} {
				got, ran := examined(t, pod.Protection{Allowed: allowed}, tc.pod)
				if got.Reason != v1alpha1.ReasonPodProtected || !strings.HasPrefix(got.Message, tc.says) || !strings.Contains(got.Message, tc.flag+".") {
					t.Errorf("got %q (%s), want PodProtected", got.Reason, got.Message)
				}
				if len(ran) > 0 {
					t.Errorf("helper operations: got %q, want none", ran)
				}
			}
			if got, _ := examined(t, pod.Protection{Allowed: only}, tc.pod); got.Reason == v1alpha1.ReasonPodProtected {
				t.Errorf("with %s: got %q, want no protection", tc.flag, got.Message)
			}
		})
	}
}

// Pods without power over the node are attached to.
func TestPodNotProtected(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"an ordinary pod":                       func(*corev1.Pod) {},
		"capabilities of ordinary containers":   adds("CHOWN", "NET_BIND_SERVICE", "IPC_LOCK"),
		"logs on the node":                      mounts("/var/log/shop", corev1.VolumeMount{}),
		"the node's time zone":                  mounts("/etc/localtime", corev1.VolumeMount{}),
		"a privileged container beside it":      beside(privileged, false),
		"capabilities of a container beside it": beside(adds("SYS_ADMIN"), false),
	} {
		if got, _ := examined(t, pod.Protection{}, change); got.Reason == v1alpha1.ReasonPodProtected {
			t.Errorf("%s: it is refused: %q", name, got.Message)
		}
	}
}

// examined returns the outcome of a pod of two containers, and the helper operations in it.
func examined(t *testing.T, p pod.Protection, change func(*corev1.Pod)) (statemachine.Outcome, []string) {
	t.Helper()
	s := aSituation()
	s.runs("a")
	s.Pod.Namespace = "shop"
	change(s.Pod)
	s.Protection = p
	s.Protection.OwnNamespace = ownNamespace
	helper := &answering{}
	s.Helper = helper
	got := FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
	return got, helper.ran
}

// A pod of several kinds names all flags at once.
func TestPodProtectedTwice(t *testing.T) {
	got, _ := examined(t, pod.Protection{}, func(pod *corev1.Pod) { inKubeSystem(pod); sharesNetwork(pod) })
	want := "The pod is in namespace kube-system and shares the node's network (hostNetwork); the operator does not attach to it. To allow that, start the operator with --allow-kube-system and --allow-host-network."
	if diff := cmp.Diff(want, got.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// The container beside a privileged one is attached to.
func TestBesidePrivileged(t *testing.T) {
	s := aSituation()
	s.runs("a")
	s.runs("b")
	privileged(s.Pod)
	helper := &answering{answers: map[string]func() (*helperapi.Report, error){"b inspect": sees(helperapi.Process{Target: aTarget})}}
	s.Helper = helper
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != record.Done().Kind {
		t.Errorf("got %q (%s), want Done", got.Reason, got.Message)
	}
	if diff := cmp.Diff([]string{"b inspect"}, helper.ran); diff != "" {
		t.Errorf("helper operations (-want +got):\n%s", diff)
	}
	if says := s.Held(JavaFound).Message; !strings.Contains(says, "Skipped container a: PodProtected.") {
		t.Errorf("message of JavaFound does not name the skipped container: %q", says)
	}
}

// A pod that was attached before the flag was removed keeps serving; nothing new begins,
// neither in another container nor in another process.
func TestProtectedWhenAttached(t *testing.T) {
	s := aSituation(serving("a", 9400), aProcess("b", 0)).inspectedWell()
	sharesNetwork(s.Pod)
	s.InspectAgain("a")
	s.InspectAgain("b")
	helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": sees(helperapi.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true})}}
	s.Helper = helper
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != record.Done().Kind {
		t.Errorf("got %q (%s), want Done", got.Reason, got.Message)
	}
	if diff := cmp.Diff([]string{"a inspect"}, helper.ran); diff != "" {
		t.Errorf("helper operations (-want +got):\n%s", diff)
	}
	for _, p := range s.Filter(func(*v1alpha1.JavaProcess) bool { return true }) {
		if refused := s.processForbidden(p); (refused == nil) != (p.Container == "a") {
			t.Errorf("processForbidden of container %s: got %+v", p.Container, refused)
		}
	}
}

// A flag that allows the pod changes the key, so that a refused pod is retried; another one does not.
func TestKeyOfProtection(t *testing.T) {
	s := aSituation()
	sharesNetwork(s.Pod)
	before := s.Key()
	s.Protection.Allowed = map[string][]string{"allow-capabilities": {"SYS_PTRACE"}}
	if s.Key() != before {
		t.Error("the key changed with a flag that does not concern the pod")
	}
	s.Protection.Allowed["allow-host-network"] = nil
	if s.Key() == before {
		t.Error("the key did not change")
	}
}
