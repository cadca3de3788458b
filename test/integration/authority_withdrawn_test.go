package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/authority"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A right that is withdrawn stops new pods only: existing endpoints keep serving, also
// with a new configuration. A right that is granted again is noticed.
func TestRightWithdrawn(t *testing.T) {
	t.Parallel()
	f, alice := stampedFleet(t)
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	f.expect("the requester has the right", isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	published := f.endpoints(f.exporter)
	if published == "" {
		t.Fatal("the exporter has no endpoint")
	}

	f.withdraw(alice)
	f.containers.Called()
	f.pods = append(f.pods, f.run(aPod("app-1")))
	f.expect("the right is withdrawn", isAnnotated, "Discovered NotAuthorized")
	f.expectNotCalled("the right is withdrawn")
	says := meta.FindStatusCondition(f.attachment(f.pods[1]).Status.Conditions, "JavaFound").Message
	if !strings.Contains(says, fmt.Sprintf("%q", f.user("alice"))) || !strings.Contains(says, "jmx-exporter-operator-attach") {
		t.Errorf("message of app-1 names neither the user nor the role to bind: %q", says)
	}
	f.configure(changed)
	f.expectAsked("the configuration changes", "2 0")
	f.later(2 * time.Minute)
	f.expect("the configuration changes", isAnnotated, "Discovered NotAuthorized")
	if got := f.endpoints(f.exporter); got != published {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, published)
	}

	f.restart(f.pods[0])
	f.containers.Called()
	f.expect("the container restarts", "Discovered NotAuthorized", "Discovered NotAuthorized")
	f.expectNotCalled("the container restarts")

	again := f.o.settle()
	if again <= 0 || again > steps.AuthorityPeriod {
		t.Fatalf("the review is repeated after %s, want at most steps.AuthorityPeriod", again)
	}
	f.bind("alice", mayAttach)
	f.reviewed(true)
	for range 2 { // first the cached answer, then a new one
		f.later(steps.AuthorityPeriod)
		f.o.settle()
	}
	f.later(2 * time.Minute)
	f.expect("the requester has the verb attach", isAnnotated, isAnnotated)
}

// Endpoints of others do not prove that a pod is served already: anyone who may write a Service
// can give it the exporter's label and a selector, and the EndpointSlice controller copies
// the label. Nothing is executed in the pod.
func TestServedByOthers(t *testing.T) {
	t.Parallel()
	f, alice := stampedFleet(t)
	f.withdraw(alice)
	pod := f.run(aPod("app-0"))
	named := f.named("mallorys-abcde")
	named.Labels = map[string]string{
		v1alpha1.LabelExporterUID: string(f.exporter.UID), discoveryv1.LabelServiceName: "mallorys", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
	}
	named.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "mallorys", UID: "mallorys", Controller: new(true)}}
	create(t, &discoveryv1.EndpointSlice{
		ObjectMeta: named, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(9404))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{pod.Status.PodIP}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}},
	})
	f.pods = []*corev1.Pod{pod}
	f.expect("the right is withdrawn", "Discovered NotAuthorized")
	f.expectNotCalled("the right is withdrawn")
}

// A preflight reports missing rights to attach, and executes nothing.
func TestPreflightNotAuthorized(t *testing.T) {
	t.Parallel()
	f, alice := stampedFleet(t)
	f.withdraw(alice)
	f.mode(f.exporter, v1alpha1.ModePreflight)
	f.stampedBy("alice")
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	f.expect("the mode is Preflight", "Discovered NotAuthorized")
	f.expectFound("the mode is Preflight", f.exporter, "0/1, pending 0, NotAuthorized 1 app-0, True PodsInspected")
	f.expectNotCalled("the mode is Preflight")
}

// A failed review is retried, and nothing is executed meanwhile.
func TestReviewFails(t *testing.T) {
	t.Parallel()
	f, _ := stampedFleet(t)
	fails := true
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if fails && effect.Kind == effects.Review {
			return errors.New("no answer")
		}
		return do()
	}
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	for range 3 {
		f.expect("no answer", "Discovered APIError")
		f.later(time.Minute)
	}
	f.expectNotCalled("no answer")
	fails = false
	f.later(10 * time.Minute)
	f.expect("an answer", isAnnotated)
}

// The rights of config/rbac, as a Role in the namespace, suffice for the review.
func TestReviewByRole(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.grant(c.user("operator"), "../../config/rbac/role.yaml")
	c.bind("alice", mayAttach)
	reviews := authority.New(clientsetOf(t, impersonated(c.user("operator"))).AuthorizationV1(), effects.Direct, c.clock)
	exporter := c.anExporter("exporter")
	may := func(name string) (bool, error) {
		return reviews.MayAttach(t.Context(), steps.Requester{User: c.user(name)}, client.ObjectKeyFromObject(exporter))
	}
	eventually(t, func() bool { allowed, err := may("alice"); c.later(time.Hour); return allowed && err == nil })
	if allowed, err := may("mallory"); allowed || err != nil {
		t.Errorf("review of mallory: got %t, %v, want false", allowed, err)
	}
}

// stampedFleet is a fleet whose exporter is stamped with alice, who may exec.
func stampedFleet(t *testing.T) (*fleet, *rbacv1.RoleBinding) {
	t.Helper()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	f.configure(rules)
	right := f.bind("alice", mayExec)
	f.exporter = create(t, f.anExporter("exporter"))
	f.stampedBy("alice")
	f.reviewed(true)
	return f, right
}

// stampedBy stamps the exporter as config/stamp would.
func (f *fleet) stampedBy(name string) {
	f.t.Helper()
	change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: f.user(name), v1alpha1.AnnotationRequesterGroups: `["system:authenticated"]`}
	})
}

// withdraw revokes a right, and expires the operator's cached answers.
func (f *fleet) withdraw(right *rbacv1.RoleBinding) {
	f.t.Helper()
	remove(f.t, right)
	f.reviewed(false)
	f.later(steps.AuthorityPeriod)
}

// reviewed waits until the API server's authorizer sees alice's right.
func (f *fleet) reviewed(want bool) {
	f.t.Helper()
	eventually(f.t, func() bool {
		reviews := authority.New(clientsetOf(f.t, config).AuthorizationV1(), effects.Direct, f.clock)
		allowed, err := reviews.MayAttach(f.t.Context(), steps.Requester{User: f.user("alice")}, client.ObjectKeyFromObject(f.exporter))
		return err == nil && allowed == want
	})
}
