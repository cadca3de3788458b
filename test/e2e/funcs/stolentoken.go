package funcs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// StolenToken has somebody with a token of the operator's try, by rights that the operator
// has, what the operator never does: its policies refuse each. All but the execs are tried
// dry. That the token is a good one is seen by what the operator does.
func StolenToken(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod := c.theOne(ctx, t, namespace)
		thief := answer(ctx, t, func(ctx context.Context) (*rest.Config, error) { return c.steal(ctx, nil) })
		as, err := client.New(thief, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		patches := func(object client.Object, kind types.PatchType, patch string) func() error {
			return func() error { return as.Patch(ctx, object, client.RawPatch(kind, []byte(patch)), client.DryRunAll) }
		}
		if err := patches(pod.DeepCopy(), types.MergePatchType, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationScrape+`":"true"}}}`)(); err != nil {
			t.Fatalf("what the operator does is refused: %v", err)
		}
		executes := func(command ...string) func() error {
			return func() error {
				_, _, err := execAs(ctx, thief, nil, namespace, pod.Name, pod.Spec.Containers[0].Name, command...)
				return err
			}
		}
		for what, try := range map[string]func() error{
			"a command":               executes("id"),
			"a shell":                 executes("sh", "-c", "id"),
			"a pod's image":           patches(pod.DeepCopy(), types.JSONPatchType, `[{"op":"replace","path":"/spec/containers/0/image","value":"evil"}]`),
			"a pod's labels":          patches(pod.DeepCopy(), types.MergePatchType, `{"metadata":{"labels":{"app":"payments"}}}`),
			"an annotation of others": patches(pod.DeepCopy(), types.MergePatchType, `{"metadata":{"annotations":{"sidecar.istio.io/inject":"false"}}}`),
			"an ephemeral container": func() error {
				patch := `{"spec":{"ephemeralContainers":[{"name":"debugger","image":"evil"}]}}`
				return as.SubResource("ephemeralcontainers").Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)),
					&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			},
			"a Service with a selector": func() error {
				return as.Create(ctx, &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "payments"},
					Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "payments"}, Ports: []corev1.ServicePort{{Port: 80}}},
				}, client.DryRunAll)
			},
			"the API server's EndpointSlice": patches(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}, types.MergePatchType,
				`{"endpoints":[{"addresses":["198.51.100.1"]}]}`),
		} {
			if err := refusedByPolicy(try()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// steal is a way to the API with a token of the operator's service account, such as the kubelet
// gives to a pod, if one is given.
func (c *cluster) steal(ctx context.Context, from *corev1.Pod) (*rest.Config, error) {
	var request authenticationv1.TokenRequest
	if from != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: from.Name, UID: from.UID}
	}
	token, err := c.kube.CoreV1().ServiceAccounts(OperatorNamespace).CreateToken(ctx, operatorName, &request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token.Status.Token
	return config, nil
}

// refusedByPolicy is nil if a policy of the operator's refused.
func refusedByPolicy(err error) error {
	if err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'jmx-exporter-operator-") && strings.Contains(err.Error(), "denied request") {
		return nil
	}
	return fmt.Errorf("not refused by a policy of the operator, but %w", outcome(err))
}
