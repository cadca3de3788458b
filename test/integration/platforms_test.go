package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Rules that platforms have for pods. The API server enforces the Pod Security Standards
// itself; testdata/openshift has OpenShift's.
const (
	baseline     = "baseline"
	restricted   = "restricted"
	restrictedV2 = "restricted-v2"
)

// A namespace that admits a pod also admits the operator's ephemeral container in it, and
// each admits the operator. docs/platforms.md names the platforms that have these rules.
func TestPlatforms(t *testing.T) {
	enforceSCC(t)
	nodeWithoutKubelet(t)
	user := func(uid, gid int64) *corev1.ContainerUser {
		return &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: uid, GID: gid}}
	}
	drops := corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	profile := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for name, tc := range map[string]struct {
		rules     string
		pod       corev1.PodSecurityContext
		container corev1.SecurityContext
		// user is what the kubelet reports; nil before Kubernetes 1.33.
		user *corev1.ContainerUser
	}{
		"baseline, without settings":        {rules: baseline},
		"baseline, as the image's user":     {rules: baseline, user: user(1000, 1000)},
		"baseline, as root":                 {rules: baseline, user: user(0, 0)},
		"baseline, as root that adds CHOWN": {rules: baseline, user: user(0, 0), container: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}},
		"baseline, with profiles":           {rules: baseline, user: user(0, 0), container: corev1.SecurityContext{SeccompProfile: profile, AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}}},
		"restricted, set for the pod":       {rules: restricted, user: user(1000, 1000), pod: corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: profile}, container: drops},
		"restricted, user not reported":     {rules: restricted, pod: corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: profile}, container: drops},
		"restricted, set for the container": {rules: restricted, user: user(1000, 1000), container: with(drops, func(c *corev1.SecurityContext) { c.RunAsNonRoot, c.SeccompProfile = new(true), profile })},
		"restricted-v2":                     {rules: restrictedV2, user: user(firstUID, 0)},
		"restricted-v2, user not reported":  {rules: restrictedV2},
		"restricted-v2, user of the pod":    {rules: restrictedV2, pod: corev1.PodSecurityContext{RunAsUser: new(int64(firstUID + 7))}},
		"restricted-v2, user of the spec":   {rules: restrictedV2, container: corev1.SecurityContext{RunAsUser: new(int64(firstUID + 7))}, user: user(firstUID+7, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, tc.rules)
			p.becomesEffective()
			p.admitsTheOperator()
			app := aPod("app-0")
			app.pod.Spec.SecurityContext, app.pod.Spec.Containers[0].SecurityContext = &tc.pod, &tc.container
			p.assign(&app.pod.Spec)
			pod := p.run(app)
			p.changeStatus(pod, func(s *corev1.PodStatus) { s.ContainerStatuses[0].User = tc.user })
			p.refusesOthers(pod)
			if err := p.opens(pod); err.Reason != v1alpha1.ReasonDoorPending {
				t.Errorf("an ephemeral container: got %s %q, want %s", err.Reason, err.Message, v1alpha1.ReasonDoorPending)
			}
		})
	}
}

func with[T any](value T, how func(*T)) T {
	how(&value)
	return value
}

// platform is a namespace with the rules of a platform.
type platform struct {
	*contained
	rules string
}

// firstUID is the first of the users of a namespace in OpenShift.
const firstUID = 1000650000

func newPlatform(t *testing.T, rules string) *platform {
	t.Helper()
	p := &platform{&contained{cluster: newCluster(t)}, rules}
	change(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}, func(n *corev1.Namespace) {
		if rules != restrictedV2 {
			n.Labels = map[string]string{"pod-security.kubernetes.io/enforce": rules}
			return
		}
		maps.Copy(n.Labels, map[string]string{"test/scc": rules})
		n.Annotations = map[string]string{"openshift.io/sa.scc.uid-range": fmt.Sprint(firstUID, "/10000"), "openshift.io/sa.scc.mcs": "s0:c26,c5"}
	})
	return p
}

// assign does what OpenShift's admission does to a new pod: it sets what the SCC requires
// and the pod does not have.
func (p *platform) assign(spec *corev1.PodSpec) {
	if p.rules != restrictedV2 {
		return
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	spec.SecurityContext.FSGroup = new(int64(firstUID))
	spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Level: "s0:c26,c5"}
	spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for i := range spec.Containers {
		if spec.Containers[i].SecurityContext == nil {
			spec.Containers[i].SecurityContext = &corev1.SecurityContext{}
		}
		c := spec.Containers[i].SecurityContext
		if c.RunAsUser == nil && spec.SecurityContext.RunAsUser == nil {
			c.RunAsUser = new(int64(firstUID))
		}
		c.RunAsNonRoot, c.AllowPrivilegeEscalation, c.Capabilities = new(true), new(false), &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	}
}

// admitsTheOperator creates the pod of the Deployment of config/default.
func (p *platform) admitsTheOperator() {
	p.t.Helper()
	for _, object := range p.build("default") {
		if object.GetObjectKind().GroupVersionKind().Kind != "Deployment" {
			continue
		}
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &deployment); err != nil {
			p.t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: p.named("operator"), Spec: deployment.Spec.Template.Spec}
		p.assign(&pod.Spec)
		create(p.t, pod)
		return
	}
	p.t.Fatal("there is no Deployment")
}

// becomesEffective waits until the rules refuse a privileged pod. The API server learns of
// namespaces and policies with a delay, and until then admits all pods.
func (p *platform) becomesEffective() {
	p.t.Helper()
	eventually(p.t, func() bool {
		pod := aPod("privileged").pod
		pod.Namespace, pod.Spec.Containers[0].SecurityContext = p.namespace, &privileged
		return refused(admin.Create(p.t.Context(), &pod, client.DryRunAll))
	})
}

// refusesOthers checks that the rules also apply to ephemeral containers.
func (p *platform) refusesOthers(pod *corev1.Pod) {
	p.t.Helper()
	after := pod.DeepCopy()
	get(p.t, after)
	after.Spec.EphemeralContainers = []corev1.EphemeralContainer{{TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", Image: "registry.example/debugger", TerminationMessagePolicy: corev1.TerminationMessageReadFile, SecurityContext: &privileged,
	}}}
	err := admin.SubResource("ephemeralcontainers").Update(p.t.Context(), after, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	if !refused(err) {
		p.t.Errorf("a privileged ephemeral container: got %v, want a refusal by the rules", err)
	}
}

var privileged = corev1.SecurityContext{Privileged: new(true)}

// refused reports whether an error is a refusal by the rules: Pod Security Standards
// answer Forbidden, policies Invalid.
func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// opens adds an ephemeral container as the operator does, and returns why there is no
// session in it yet.
func (p *platform) opens(pod *corev1.Pod) *transport.Error {
	p.t.Helper()
	pods, err := manager.NewPods(config, effects.Direct)
	if err != nil {
		p.t.Fatal(err)
	}
	in := p.inApp(pod)
	in.ID, in.Object = pod.Status.ContainerStatuses[0].ContainerID, pod
	_, err = transport.NewDoor(transport.NewExec(nil, artifacts, effects.Direct, transport.NewLimits(1, 1, 1)), pods, transport.DoorOptions{Image: "registry.example/operator:1"}).Open(p.t.Context(), in)
	known, ok := errors.AsType[*transport.Error](err)
	if !ok {
		p.t.Fatalf("got %v", err)
	}
	return known
}

// enforceSCC enforces the SCC restricted-v2 in the namespaces that have its label.
func enforceSCC(t *testing.T) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "testdata/openshift/restricted-v2.yaml")), policy); err != nil {
		t.Fatal(err)
	}
	create(t, policy)
	t.Cleanup(func() { _ = admin.Delete(context.Background(), policy) })
	binding := create(t, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	})
	t.Cleanup(func() { _ = admin.Delete(context.Background(), binding) })
}
