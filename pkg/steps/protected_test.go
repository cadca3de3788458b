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

// Each kind of protected pod is refused before anything is executed in it, with a message
// that names its kind and its flag, which allows this kind and no other.
func TestPodProtected(t *testing.T) {
	all := pod.Protection{AllowKubeSystem: true, AllowOwnNamespace: true, AllowPrivileged: true, AllowHostPID: true, AllowHostNetwork: true}
	for name, tc := range map[string]struct {
		pod   func(*corev1.Pod)
		says  string
		flag  string
		allow func(*pod.Protection, bool)
	}{
		"the pod is in kube-system": {inKubeSystem, "The pod is in namespace kube-system; ", "--allow-kube-system",
			func(p *pod.Protection, is bool) { p.AllowKubeSystem = is }},
		"the pod is in the operator's namespace": {inOwnNamespace, "The pod is in the operator's own namespace; ", "--allow-own-namespace",
			func(p *pod.Protection, is bool) { p.AllowOwnNamespace = is }},
		"the pod uses hostPID": {sharesPIDs, "The pod shares the node's process IDs (hostPID); ", "--allow-host-pid",
			func(p *pod.Protection, is bool) { p.AllowHostPID = is }},
		"the pod uses hostNetwork": {sharesNetwork, "The pod shares the node's network (hostNetwork); ", "--allow-host-network",
			func(p *pod.Protection, is bool) { p.AllowHostNetwork = is }},
		"a container is privileged": {privileged, "Container a: The container is privileged; ", "--allow-privileged",
			func(p *pod.Protection, is bool) { p.AllowPrivileged = is }},
	} {
		t.Run(name, func(t *testing.T) {
			without, only := all, pod.Protection{}
			tc.allow(&without, false)
			tc.allow(&only, true)
			for _, p := range []pod.Protection{{}, without} {
				got, ran := examined(t, p, tc.pod)
				if got.Reason != v1alpha1.ReasonPodProtected || !strings.HasPrefix(got.Message, tc.says) || !strings.Contains(got.Message, tc.flag+".") {
					t.Errorf("got %q (%s), want PodProtected", got.Reason, got.Message)
				}
				if len(ran) > 0 {
					t.Errorf("helper operations: got %q, want none", ran)
				}
			}
			if got, _ := examined(t, only, tc.pod); got.Reason == v1alpha1.ReasonPodProtected {
				t.Errorf("with %s: got %q, want no protection", tc.flag, got.Message)
			}
		})
	}
	if got, _ := examined(t, pod.Protection{}, func(*corev1.Pod) {}); got.Reason == v1alpha1.ReasonPodProtected {
		t.Errorf("an ordinary pod is refused: %q", got.Message)
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

// The agents of a record that was lost are searched for in all containers, also if the
// flags were different when the pod was attached.
func TestProtectedWhenLost(t *testing.T) {
	ours := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot", Mark: isRunning, AgentJarOpen: true})
	lost := func() (*scene, *answering) {
		s := aSituation()
		s.runs("a")
		s.runs("b")
		sharesNetwork(s.Pod)
		s.Status().Containers = nil
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": sees(), "b inspect": ours}}
		s.Helper = helper
		return s, helper
	}
	for name, find := range map[string]func(*scene){
		"the exporter exists": func(s *scene) {
			s.Published = []PublishedEndpoint{{s.Pod.Status.PodIP, 9400, false}}
			FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
		},
		"the pod is detaching": func(s *scene) {
			if err := s.FindAgents(t.Context(), s.Situation); err != nil {
				t.Error(err)
			}
		},
	} {
		s, helper := lost()
		find(s)
		if diff := cmp.Diff([]string{"a inspect", "b inspect"}, helper.ran); diff != "" {
			t.Errorf("%s: helper operations (-want +got):\n%s", name, diff)
		}
		if found := s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.AgentFound }); len(found) != 1 {
			t.Errorf("%s: agents found: got %d, want 1", name, len(found))
		}
	}
}

// A change of the flags changes the key, so that a refused pod is retried.
func TestKeyOfProtection(t *testing.T) {
	s := aSituation()
	before := s.Key()
	s.Protection.AllowHostNetwork = true
	if s.Key() == before {
		t.Error("the key did not change")
	}
}
