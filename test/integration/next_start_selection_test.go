package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const added = "app: " + variable + "=" + option

// The policy selects pods as the operator does: each exporter of a table is compared with the
// operator's own selector, for pods with different labels.
func TestNextStartSelectors(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	in := func(operator metav1.LabelSelectorOperator, values ...v1alpha1.LabelValue) *v1alpha1.PodSelector {
		return &v1alpha1.PodSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: "example.com/tier", Operator: operator, Values: values}}}
	}
	pods := []map[string]string{
		nil, {"app": "dummyapp"}, {"app": "other"}, {"app": "", "example.com/tier": ""}, {"app": "dummyapp", "example.com/tier": "web"}, {"example.com/tier": "db"},
	}
	for name, spec := range map[string]v1alpha1.PrometheusJmxExporterSpec{
		"labelSelector":           {LabelSelector: map[string]v1alpha1.LabelValue{"app": "dummyapp"}},
		"labelSelector, two":      {LabelSelector: map[string]v1alpha1.LabelValue{"app": "dummyapp", "example.com/tier": "web"}},
		"labelSelector, an empty": {LabelSelector: map[string]v1alpha1.LabelValue{"app": ""}},
		"matchLabels":             {Selector: &v1alpha1.PodSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "dummyapp"}}},
		"In":                      {Selector: in("In", "web", "db")},
		"In, an empty":            {Selector: in("In", "")},
		"NotIn":                   {Selector: in("NotIn", "web")},
		"Exists":                  {Selector: in("Exists")},
		"DoesNotExist":            {Selector: in("DoesNotExist")},
		"both of a selector": {Selector: &v1alpha1.PodSelector{
			MatchLabels:      map[string]v1alpha1.LabelValue{"app": "dummyapp"},
			MatchExpressions: in("Exists").MatchExpressions,
		}},
	} {
		e := c.allowing("exporter", func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.LabelSelector, e.Spec.Selector = spec.LabelSelector, spec.Selector
		})
		want := func(labels map[string]string) string {
			if e.Spec.Selects(labels) {
				return added
			}
			return ""
		}
		for _, labels := range pods {
			pod := func() *corev1.Pod {
				p := plain()
				p.Labels = labels
				return p
			}
			var got string
			if !soon(t, func() bool { got = env(c.mutated(pod())); return got == want(labels) }) {
				t.Fatalf("%s, pod with labels %v: got %q, want %q", name, labels, got, want(labels))
			}
		}
		remove(t, e)
	}
}

// Which pods and containers the policy changes, for each kind of pod and exporter.
func TestNextStartSelection(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	always := corev1.ContainerRestartPolicyAlways
	for name, tc := range map[string]struct {
		exporter func(*v1alpha1.PrometheusJmxExporter)
		status   v1alpha1.NextStartStatus
		pod      func(*corev1.Pod)
		want     string
	}{
		"opted out": {pod: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "true"} }},
		"not opted out": {
			pod: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "false"} }, want: added,
		},
		"a mirror pod": {pod: func(p *corev1.Pod) {
			p.Spec.NodeName, p.Annotations = "node-1", map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}},
		"Windows":                       {pod: func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }},
		"Windows, by the node selector": {pod: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"} }},
		"Linux, by the node selector": {
			pod: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"} }, want: added,
		},
		"the node's network":   {pod: func(p *corev1.Pod) { p.Spec.HostNetwork = true }},
		"the node's processes": {pod: func(p *corev1.Pod) { p.Spec.HostPID = true }},
		"the node's IPC":       {pod: func(p *corev1.Pod) { p.Spec.HostIPC = true }},
		"a privileged container": {pod: func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		}},
		"a capability with power over the node": {pod: func(p *corev1.Pod) { capable(p, "cap_sys_admin") }},
		"an ordinary capability":                {pod: func(p *corev1.Pod) { capable(p, "CAP_CHOWN") }, want: added},

		"Linux":          {pod: func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Linux} }, want: added},
		"mode Preflight": {exporter: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModePreflight }},
		"not requested":  {exporter: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.AtNextStart = "" }},
		"suspended":      {exporter: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true }, want: added},
		"loads that warn are refused": {
			exporter: func(e *v1alpha1.PrometheusJmxExporter) {
				e.Spec.DynamicAgentLoading = v1alpha1.DynamicAgentLoadingRefuseOnWarning
			}, want: added,
		},
		"a named container": {
			exporter: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = []v1alpha1.ContainerName{"app"} },
			pod:      twoContainers, want: added + "\nweb: " + variable + "=-Da",
		},
		"another named container": {
			exporter: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = []v1alpha1.ContainerName{"web"} },
			pod:      twoContainers, want: "web: " + variable + "=" + option + " -Da",
		},
		"no named container": {pod: twoContainers, want: added + "\nweb: " + variable + "=" + option + " -Da"},
		"a container without the variable that was not observed": {status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{
			{Name: "app", Reason: v1alpha1.ReasonSetByImage, Pod: "p", Message: "m"},
		}}},
		"a container with a value, of which the image has one, too": {
			status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{{Name: "app", Reason: v1alpha1.ReasonSetByImage, Pod: "p", Message: "m"}}},
			pod:    func(p *corev1.Pod) { p.Spec.Containers[0].Env = variables(variable, "-Da") }, want: added + " -Da",
		},
		"a container with a value, in which Java 8 was seen": {
			status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{{Name: "app", Reason: v1alpha1.ReasonVariableNotRead, Pod: "p", Message: "m"}}},
			pod:    func(p *corev1.Pod) { p.Spec.Containers[0].Env = variables(variable, "-Da") }, want: "app: " + variable + "=-Da",
		},
		"a container with a value, in which loads were seen to be denied": {
			status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{{Name: "app", Reason: v1alpha1.ReasonLoadingDenied, Pod: "p", Message: "m"}}},
			pod:    func(p *corev1.Pod) { p.Spec.Containers[0].Env = variables(variable, "-Da") }, want: "app: " + variable + "=-Da",
		},
		"a container with a value, in which Java 8 was seen with its image": {
			status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{{Name: "app", Image: appImage, Reason: v1alpha1.ReasonVariableNotRead, Pod: "p", Message: "m"}}},
			pod:    func(p *corev1.Pod) { p.Spec.Containers[0].Env = variables(variable, "-Da") }, want: "app: " + variable + "=-Da",
		},
		"a container with a value, in which Java 8 was seen with another image": {
			status: v1alpha1.NextStartStatus{Skipped: []v1alpha1.NextStartSkipped{{Name: "app", Image: "registry.example/app:8", Reason: v1alpha1.ReasonVariableNotRead, Pod: "p", Message: "m"}}},
			pod:    func(p *corev1.Pod) { p.Spec.Containers[0].Env = variables(variable, "-Da") }, want: added + " -Da",
		},
		"a sidecar, and an init container that ends": {
			status: v1alpha1.NextStartStatus{Containers: []v1alpha1.NextStartContainer{{Name: "app", Image: appImage}, {Name: "sidecar", Image: appImage}, {Name: "init", Image: appImage}}},
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{
					{Name: "init", Image: appImage, Env: variables(variable, "-Da")},
					{Name: "sidecar", Image: appImage, RestartPolicy: &always},
					{Name: "valued", Image: appImage, RestartPolicy: &always, Env: variables(variable, "-Db")},
				}
			},
			want: added + "\ninit: " + variable + "=-Da\nsidecar: " + variable + "=" + option + "\nvalued: " + variable + "=" + option + " -Db",
		},
	} {
		status := tc.status
		if len(status.Containers)+len(status.Skipped) == 0 {
			status.Containers = []v1alpha1.NextStartContainer{{Name: "app", Image: appImage}}
		}
		e := c.allowing("exporter", tc.exporter)
		c.observed(e, status)
		var got string
		if !soon(t, func() bool {
			pod := plain()
			if tc.pod != nil {
				tc.pod(pod)
			}
			got = env(c.mutated(pod))
			return got == tc.want
		}) {
			t.Fatalf("%s (-want +got):\n%s", name, cmp.Diff(tc.want, got))
		}
		remove(t, e)
		eventually(t, func() bool { return env(c.mutated(valued("-Da"))) == "app: "+variable+"=-Da" })
	}
}

// capable adds a capability to the container of a pod.
func capable(p *corev1.Pod, capability corev1.Capability) {
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{capability}}}
}

func twoContainers(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "web", Image: "registry.example/web:1", Env: variables(variable, "-Da")})
}

// Several exporters add the option once; an exporter without a status, or with one that no
// operator wrote, refuses no pod; a large pod and many exporters stay within the limits of CEL.
func TestNextStartExporters(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	for i := range 5 {
		c.allowing(fmt.Sprintf("exporter-%d", i), nil)
	}
	fresh := c.anExporter("fresh")
	fresh.Spec.AtNextStart = v1alpha1.NextStartAllowAttach
	create(t, fresh)
	broken := c.anExporter("broken")
	broken.Spec.Config.ConfigMapName = "missing"
	create(t, broken)
	c.eventuallyAdmits(added, plain)
	c.eventuallyAdmits(added+" -Da", func() *corev1.Pod { return valued("-Da") })

	widest := c.anExporter("widest")
	widest.Spec.AtNextStart = v1alpha1.NextStartAllowAttach
	widest.Spec.LabelSelector, widest.Spec.Selector = nil, &v1alpha1.PodSelector{}
	labels := map[string]string{}
	for i := range 32 {
		key := fmt.Sprintf("%s.example.com/label-%d", strings.Repeat("x", 60), i)
		labels[key] = "value"
		r := v1alpha1.LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn}
		for v := range 64 {
			r.Values = append(r.Values, v1alpha1.LabelValue(fmt.Sprintf("%s%d", strings.Repeat("v", 60), v)))
		}
		widest.Spec.Selector.MatchExpressions = append(widest.Spec.Selector.MatchExpressions, r)
	}
	create(t, widest)
	var status v1alpha1.NextStartStatus
	for i := range 64 {
		status.Containers = append(status.Containers, v1alpha1.NextStartContainer{Name: fmt.Sprintf("c-%d", i), Image: "registry.example/" + strings.Repeat("i", 480) + ":1"})
	}
	c.observed(widest, status)
	large := func() *corev1.Pod {
		p := plain()
		p.Labels = labels
		p.Spec.Containers = nil
		for _, o := range status.Containers {
			container := corev1.Container{Name: o.Name, Image: o.Image}
			for i := range 50 {
				container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: strings.Repeat("x", 200)})
			}
			p.Spec.Containers = append(p.Spec.Containers, container)
		}
		return p
	}
	eventually(t, func() bool { return strings.Count(env(c.mutated(large())), option) == len(status.Containers) })
}

// Without the kind, or without the policy, pods are created as they are.
func TestNextStartWithoutPolicy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.configure(rules)
	c.allowing("exporter", nil)
	if got := env(c.mutated(plain())); got != "" {
		t.Errorf("without the policy: got %q, want no variable", got)
	}
	// A policy whose parameters are of a kind that does not exist.
	for _, object := range built(t, nextStart) {
		name := object.GetName() + "-" + c.namespace
		if object.GetKind() == "MutatingAdmissionPolicy" {
			set(t, object, "Missing", "spec", "paramKind", "kind")
		} else {
			set(t, object, name, "spec", "policyName")
			set(t, object, map[string]any{"kubernetes.io/metadata.name": c.namespace}, "spec", "matchResources", "namespaceSelector", "matchLabels")
		}
		object.SetName(name)
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), object) })
	}
	c.awaitPolicies()
	for range 20 {
		if got := env(c.mutated(plain())); got != "" {
			t.Fatalf("with a policy of a kind that does not exist: got %q, want no variable", got)
		}
	}
}
