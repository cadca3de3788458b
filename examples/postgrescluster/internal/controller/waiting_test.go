package controller

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/membertest"
)

// Why a member does not start is said in the words of who knows it, and these stay the same
// as long as it does.
func TestMemberDoesNotStart(t *testing.T) {
	t.Parallel()
	scheduled := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message,
		}}}
	}
	waits := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "postgres", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	for name, test := range map[string]struct {
		statuses []corev1.PodStatus
		bound    bool
		reason   string
		says     string
	}{
		"no volume": {
			statuses: []corev1.PodStatus{scheduled("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.")},
			reason:   ReasonVolumePending, says: "unbound immediate PersistentVolumeClaims",
		},
		"no node": {
			statuses: []corev1.PodStatus{scheduled("0/3 nodes are available: 3 Insufficient memory.")}, bound: true,
			reason: ReasonMemberWaiting, says: "Insufficient memory",
		},
		"no image": {
			statuses: []corev1.PodStatus{
				waits("ErrImagePull", `failed to resolve reference "registry.example/member:1": not found`),
				waits("ImagePullBackOff", `Back-off pulling image "registry.example/member:1": ErrImagePull: failed to resolve reference "registry.example/member:1": not found`),
			},
			reason: ReasonMemberWaiting, says: `ErrImagePull: failed to resolve reference "registry.example/member:1": not found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.kubelet.hold("db-0")
			w.until("a pod", func(*v1.PostgresClusterStatus) bool { return w.uid("db-0") != "" })
			if test.bound {
				claim := &corev1.PersistentVolumeClaim{}
				w.load("db-0", claim)
				w.kubelet.bind(t.Context(), claim)
			}
			message := ""
			for _, status := range test.statuses {
				pod := &corev1.Pod{}
				w.load("db-0", pod)
				pod.Status = status
				w.must(admin.Status().Update(t.Context(), pod))
				w.is("Planned", test.reason)
				if now := w.object.Status.Message; !strings.Contains(now, test.says) || message != "" && now != message {
					t.Errorf("it says %q, and before %q; want %q in it", now, message, test.says)
				}
				message = w.object.Status.Message
			}
			w.kubelet.release("db-0")
			w.completes(1)
		})
	}
}

// A claim that is too small is said of, and is tried again once there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	volume := ""
	mount := func(options string) {
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", volume).CombinedOutput(); err != nil {
			t.Errorf("a small file system needs root: %s", out)
		}
	}
	w.kubelet.volume = func(t *testing.T) string {
		volume = membertest.Volume(t)
		mount("size=16m,mode=0777")
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "--lazy", volume).CombinedOutput(); err != nil {
				t.Errorf("%s", out)
			}
		})
		return volume
	}
	w.is("Planned", member.DiskFull)
	mount("remount,size=1g")
	w.passes(maxReplacementDelay)
	w.completes(1)
}

// The primary of a cluster of one that does not start again says itself why.
func TestOneMemberLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.completes(1)
	w.kubelet.kill("db-0", true)
	w.until("another pod", func(s *v1.PostgresClusterStatus) bool { return s.Phase == "Seeded" && w.uid("db-0") != "" })
	pod := &corev1.Pod{}
	w.until("why", func(s *v1.PostgresClusterStatus) bool {
		if client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: "db-0"}, pod)) == nil && pod.Status.Phase == corev1.PodPending {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "postgres", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "no such Secret"},
			}}}
			w.must(client.IgnoreNotFound(admin.Status().Update(t.Context(), pod)))
		}
		return s.Reason == ReasonMemberWaiting && strings.Contains(s.Message, "no such Secret")
	})
	w.kubelet.release("db-0")
	w.completes(1)
}

// A pod that the API server rejects is said of, is tried less and less often, and does not
// hold up a failover, nor those who write, nor that its member leaves.
func TestRejectedPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.object.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: metav1.AddLabelToSelector(&metav1.LabelSelector{}, corev1.LabelMetadataName, w.object.Namespace),
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "no pods today"}},
		},
	}
	w.must(admin.Create(t.Context(), policy))
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	w.must(admin.Create(t.Context(), binding))
	w.until("the policy", func(*v1.PostgresClusterStatus) bool {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "any"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}},
		}
		return apierrors.IsInvalid(admin.Create(t.Context(), pod, client.DryRunAll))
	})
	w.kubelet.kill("db-0", true)
	w.did = nil
	w.losesPrimary()
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-0" && s.Announced == nil })
	w.is("Serving", ReasonObjectRefused)
	if ready := meta.FindStatusCondition(w.object.Status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue || w.labeled(rolePrimary) != w.object.Status.Primary {
		t.Errorf("Ready is %+v, and -rw leads to %q, not to %s", ready, w.labeled(rolePrimary), w.object.Status.Primary)
	}
	if !strings.Contains(w.object.Status.Message, "no pods today") {
		t.Errorf("it says %q", w.object.Status.Message)
	}
	for range 30 {
		w.reconcile()
	}
	tries := w.count(func(what string) bool { return strings.HasPrefix(what, "apply") && strings.HasSuffix(what, "on db-0") })
	if tries < 2 || tries > 20 {
		t.Errorf("in half a minute and a failover the pod was tried %d times", tries)
	}
	w.resize(2)
	w.completes(2)
	w.must(admin.Delete(t.Context(), binding))
	w.kubelet.release("db-0")
	w.resize(3)
	w.completes(3)
}

// A member that does not stay up is replaced less and less often.
func TestReplacementsArePaced(t *testing.T) {
	t.Parallel()
	p, now := &newPacing().replacements, metav1.Now()
	var delays []string
	for range 8 {
		delays = append(delays, fmt.Sprint(p.Delay("db-0").Seconds()))
		p.Note("db-0", now.Time, fails(ReasonMemberEnded, nil, "It ended."))
	}
	if got := strings.Join(delays, " "); got != "0 5 10 20 40 80 160 300" {
		t.Errorf("the delays are %s", got)
	}
	if p.Note("db-0", now.Time, nil); p.Delay("db-0") != 0 {
		t.Error("a member that stayed up is still paced")
	}
}
