package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
)

// contained is an overlay of config for the namespace of a test, with the rights that it
// grants the operator's service account, and the policies that bind it.
type contained struct {
	*cluster
	policies []client.Object
	// rules are those of its roles.
	rules []rbacv1.PolicyRule
	// home is the operator's pod. config is that of a token of it, and client its client.
	home   *corev1.Pod
	config *rest.Config
	// agent is the pod of a node agent, if the overlay has any.
	agent  *corev1.Pod
	client client.WithWatch
	// commands are those that the policies accept.
	commands policies.Commands
}

// contain builds an overlay, and grants the operator its rights; enforce enforces the
// policies. Such a test is not parallel: the policy jmx-exporter-operator-creator is for
// the whole cluster.
func contain(t *testing.T, overlay string, components ...string) *contained {
	t.Helper()
	nodeWithoutKubelet(t)
	c := &contained{cluster: newCluster(t)}
	for _, object := range c.build(overlay, components...) {
		switch object.GetObjectKind().GroupVersionKind().Kind {
		case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			switch name := object.GetName(); {
			case name == "jmx-exporter-operator-attach": // is others'
			case strings.HasPrefix(name, "jmx-exporter-operator"), name == "jmx-exporter-crds": // the rest of config/users is others'
				c.note(object)
			}
			create(t, c.renamed(object))
		case "Deployment":
			c.home = c.runsOperator(object)
		case "DaemonSet":
			c.agent = c.runsAgent(object)
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			c.policies = append(c.policies, object)
		}
	}
	c.commands = acceptedCommands(t)
	var err error
	c.config = c.boundTo(c.home)
	if c.client, err = newClient(c.config); err != nil {
		t.Fatal(err)
	}
	return c
}

// runsOperator does what Kubernetes' controllers and the kubelet do for the operator's
// Deployment: its pod runs.
func (c *cluster) runsOperator(object client.Object) *corev1.Pod {
	c.t.Helper()
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &deployment); err != nil {
		c.t.Fatal(err)
	}
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = deployment.Namespace, deployment.Name+"-"
	create(c.t, pod)
	pod.Status.Phase = corev1.PodRunning
	c.updateStatus(pod)
	return pod
}

// acceptedCommands are those that the policies of config accept.
func acceptedCommands(t *testing.T) policies.Commands {
	t.Helper()
	var commands policies.Commands
	if err := json.Unmarshal([]byte(readFile(t, "../../config/policies/commands.json")), &commands); err != nil {
		t.Fatal(err)
	}
	return commands
}

// build builds a user's overlay of one of config: in another namespace, and with another
// image.
func (c *contained) build(overlay string, components ...string) []client.Object {
	c.t.Helper()
	var added []string
	for _, component := range components {
		added = append(added, "CONFIG/"+component)
	}
	return c.kustomize(fmt.Sprintf(`namespace: %s
resources: [CONFIG/%s]
components: [%s]
images: [{name: jmx-exporter-operator, newName: registry.example/operator, newTag: "1"}]
transformers: [CONFIG/policies/installation, CONFIG/policies/namespace]
`, c.namespace, overlay, strings.Join(added, ", ")))
}

// kustomize builds a kustomization, in which CONFIG stands for the folder config.
func (c *cluster) kustomize(kustomization string) []client.Object {
	c.t.Helper()
	dir := c.t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		c.t.Fatal(err)
	}
	to, err := filepath.Rel(dir, filepath.Join(here, "..", "..", "config"))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(kustomization, "CONFIG", to)), 0o644); err != nil {
		c.t.Fatal(err)
	}
	command := exec.CommandContext(c.t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", dir)
	command.Dir = filepath.Join("..", "..")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		c.t.Fatal(err)
	}
	var objects []client.Object
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(out)), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			c.t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

// note adds the rules of a role.
func (c *contained) note(object client.Object) {
	c.t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &role); err != nil {
		c.t.Fatal(err)
	}
	c.rules = append(c.rules, role.Rules...)
}

// renamed returns a role or binding with a name unique to this test, because others create it too.
func (c *contained) renamed(object client.Object) client.Object {
	c.t.Helper()
	u := object.(*unstructured.Unstructured)
	u.SetName(u.GetName() + "-" + c.namespace)
	if name, ok, _ := unstructured.NestedString(u.Object, "roleRef", "name"); ok {
		if err := unstructured.SetNestedField(u.Object, name+"-"+c.namespace, "roleRef", "name"); err != nil {
			c.t.Fatal(err)
		}
	}
	c.t.Cleanup(func() { _ = admin.Delete(context.Background(), u) })
	return u
}

func (c *contained) as(user string, groups ...string) *rest.Config {
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return as
}

// boundTo is how the API server sees requests with a token that the kubelet gave a pod.
func (c *contained) boundTo(pod *corev1.Pod) *rest.Config {
	as := c.as("system:serviceaccount:"+pod.Namespace+":"+pod.Spec.ServiceAccountName, serviceAccounts)
	as.Impersonate.Extra = map[string][]string{
		"authentication.kubernetes.io/pod-name": {pod.Name}, "authentication.kubernetes.io/pod-uid": {string(pod.UID)},
	}
	return as
}

// tenant returns a client with all rights on the operator's kinds and on EndpointSlices in
// the namespace, and on pods but for exec.
func (c *contained) tenant() client.Client {
	c.t.Helper()
	create(c.t, &rbacv1.Role{ObjectMeta: c.named("tenant"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"banzaicloud.com"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "pods/status", "pods/binding", "pods/ephemeralcontainers"}, Verbs: []string{"*"}},
	}})
	create(c.t, &rbacv1.RoleBinding{
		ObjectMeta: c.named("tenant"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-" + c.namespace}},
	})
	as, err := newClient(c.as("tenant-" + c.namespace))
	if err != nil {
		c.t.Fatal(err)
	}
	return as
}

// enforce enforces the policies of the overlay, and waits until they are effective.
func (c *contained) enforce(counts func() bool) {
	c.t.Helper()
	c.liftedAtTheEnd()
	for _, object := range c.policies {
		create(c.t, object)
		c.t.Cleanup(func() { _ = admin.Delete(context.Background(), object) })
	}
	c.awaitPolicies()
	eventually(c.t, counts)
}

// liftedAtTheEnd waits, after the clean-up that follows, until no policy for the whole cluster
// counts any more: the API server notices a deletion a moment later, and the next test may be
// one of a user whom the policy denies.
func (c *cluster) liftedAtTheEnd() {
	c.t.Helper()
	c.bind("bystander", mayWrite, mayConfigure)
	bystander := as(c.t, c.user("bystander"))
	c.t.Cleanup(func() {
		err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return !denied(bystander.Create(ctx, c.anExporter("probe"), client.DryRunAll), "jmx-exporter-operator-creator"), nil
		})
		if err != nil {
			c.t.Errorf("a policy for the whole cluster still counts: %v", err)
		}
	})
}

// executes requests an exec. Nil means that it was admitted: there is no kubelet to run it.
func (c *contained) executes(protocol string, pod *corev1.Pod, o corev1.PodExecOptions) error {
	c.t.Helper()
	url := clientsetOf(c.t, c.config).CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").
		VersionedParams(&o, clientgoscheme.ParameterCodec).URL()
	var executor remotecommand.Executor
	var err error
	if protocol == "SPDY" {
		executor, err = remotecommand.NewSPDYExecutor(c.config, http.MethodPost, url)
	} else {
		executor, err = remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, url.String())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	err = executor.StreamWithContext(c.t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Tty: o.TTY})
	if err == nil {
		c.t.Fatal("the exec succeeded, although there is no kubelet")
	}
	if strings.Contains(err.Error(), "connection refused") {
		return nil
	}
	return err
}

// deniedByAny reports whether a policy of the operator denied the request.
func deniedByAny(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'jmx-exporter-operator-") && strings.Contains(err.Error(), "denied request")
}
