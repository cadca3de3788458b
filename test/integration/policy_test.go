package integration

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// RBAC does not allow the operator to exec: the missing rule is reported, and the pod
// continues when the right is granted.
func TestExecForbidden(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	user := addUser(t, "operator")
	o := s.operateAs(admin, s.admitted(user))
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")

	o.settle()
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonExecForbidden, says: "get and create on pods/exec"}.is(o, s.pod)

	create(t, &rbacv1.Role{ObjectMeta: s.named("exec"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}},
	}})
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: s.named("exec"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "exec"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
	})
	eventually(t, func() bool {
		o.later(10 * time.Minute)
		o.settle()
		return phaseOf(s.attachment(s.pod)) == "Annotated"
	})
	s.isAnnotated("9400")
}

// An admission policy denies the exec: its message is reported.
func TestExecRefused(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operateAs(admin, s.admitted(config))
	s.pod = s.run(aPod("app-0"))
	policy := s.forbid("pods/exec", admissionv1.Connect, "false", "nobody execs here")
	eventually(t, func() bool {
		_, err := s.admitted(config).Run(t.Context(), s.inApp(s.pod), helperapi.VerbInspect, helperapi.Request{})
		return err != nil
	})
	s.exporter = s.export("exporter")

	o.settle()
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonExecRefused, says: "nobody execs here"}.is(o, s.pod)

	remove(t, policy)
	eventually(t, func() bool {
		o.later(10 * time.Minute)
		o.settle()
		return phaseOf(s.attachment(s.pod)) == "Annotated"
	})
	s.isAnnotated("9400")
}

// An admission policy denies the annotation: the endpoint is exposed nevertheless.
func TestAnnotationRefused(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	policy := s.forbid("pods", admissionv1.Update, "!has(object.metadata.annotations)", "nobody annotates here")
	eventually(t, func() bool {
		pod := s.pod.DeepCopy()
		pod.Annotations = map[string]string{"some": "thing"}
		return admin.Update(t.Context(), pod, client.DryRunAll) != nil
	})
	s.exporter = s.export("exporter")

	o.settle()
	a := s.attachment(s.pod)
	if got := phaseOf(a); got != "Exposed AnnotationRefused" {
		t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "Exposed AnnotationRefused")
	}
	if events := o.events.with(v1alpha1.ReasonAnnotationRefused); len(events) != 1 || events[0].Type != corev1.EventTypeWarning {
		t.Errorf("%s Events: got %v, want one with the expected note", v1alpha1.ReasonAnnotationRefused, events)
	}
	if ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "nobody annotates here") {
		t.Errorf("message of Ready does not contain the policy's: %q", ready.Message)
	}
	if s.endpoints(s.exporter) == "" {
		t.Error("the endpoint was removed")
	}

	remove(t, policy)
	eventually(t, func() bool {
		o.later(10 * time.Minute)
		o.settle()
		return phaseOf(s.attachment(s.pod)) == "Annotated"
	})
	s.isAnnotated("9400")
}

// The API server's own error of an exec into a pod that does not exist.
func TestExecGone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.run(aPod("app-0"))
	remove(t, pod)
	_, err := c.admitted(config).Run(t.Context(), c.inApp(pod), helperapi.VerbInspect, helperapi.Request{})
	var known *transport.Error
	if !errors.As(err, &known) || known.Reason != v1alpha1.ReasonPodGone {
		t.Errorf("got error %v, want PodGone", err)
	}
}

// admitted is a helper that sends each exec to the API server as an operator does. An
// exec that is admitted fails without a kubelet, and the scripted containers answer
// instead.
func (c *cluster) admitted(as *rest.Config) transport.Helper {
	c.t.Helper()
	nodeWithoutKubelet(c.t)
	clientset, err := kubernetes.NewForConfig(as)
	if err != nil {
		c.t.Fatal(err)
	}
	exec := transport.NewExec(transport.NewStreams(as, clientset.CoreV1().RESTClient()), artifacts, effects.Direct, transport.NewLimits(4, 4, 4))
	scripted := c.containers.Through(effects.Direct)
	return helperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		session, err := exec.Open(ctx, in)
		if err == nil {
			session.Close()
		}
		var known *transport.Error
		if errors.As(err, &known) && known.Reason != v1alpha1.ReasonExecFailed {
			return nil, err
		}
		return scripted.Run(ctx, in, verb, request, blobs...)
	})
}

var nodeOnce sync.Once

// nodeWithoutKubelet creates the node of the pods of aPod: nothing listens on the
// kubelet's port.
func nodeWithoutKubelet(t *testing.T) {
	t.Helper()
	nodeOnce.Do(func() {
		node := create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = 1
		if err := admin.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	})
}

func (c *cluster) inApp(pod *corev1.Pod) transport.Container {
	return transport.Container{Namespace: pod.Namespace, Pod: pod.Name, PodUID: pod.UID, Name: "app", Node: pod.Spec.NodeName}
}

// forbid creates an admission policy that denies an operation in the namespace.
func (c *cluster) forbid(resource string, operation admissionv1.OperationType, unless, says string) client.Object {
	c.t.Helper()
	policy := create(c.t, &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{operation},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				},
			}}},
			Validations:   []admissionv1.Validation{{Expression: unless, Message: says}},
			FailurePolicy: new(admissionv1.Fail),
		},
	})
	binding := create(c.t, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.namespace},
			}},
		},
	})
	return binding
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	if !soon(t, condition) {
		t.Fatal("the condition was not met")
	}
}

// soon waits until the condition is met, and reports whether it was.
func soon(t *testing.T, condition func() bool) bool {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	}) == nil
}
