package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const (
	nextStart = "config/next-start"
	option    = v1alpha1.OptionAllowAttach
	variable  = v1alpha1.JavaOptionsVariable
	appImage  = "registry.example/app:1"
)

// newNextStart enforces the policy of config/next-start in a new namespace. No operator runs.
func newNextStart(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.configure(rules)
	c.enforce(nextStart)
	probe := c.allowing("probe", func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "probe"}
	})
	eventually(t, func() bool {
		return len(c.mutated(valued("-Xmx1g"), func(p *corev1.Pod) { p.Labels["app"] = "probe" }).Spec.Containers[0].Env[0].Value) > len("-Xmx1g")
	})
	remove(t, probe)
	return c
}

// allowing creates an exporter with spec.atNextStart, whose status names the container app with
// the image of plain.
func (c *cluster) allowing(name string, how func(*v1alpha1.PrometheusJmxExporter)) *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	e := c.anExporter(name)
	e.Spec.AtNextStart = v1alpha1.NextStartAllowAttach
	if how != nil {
		how(e)
	}
	create(c.t, e)
	c.observed(e, v1alpha1.NextStartStatus{Containers: []v1alpha1.NextStartContainer{{Name: "app", Image: appImage}}})
	return e
}

// observed writes status.atNextStart of an exporter, as the operator would.
func (c *cluster) observed(e *v1alpha1.PrometheusJmxExporter, status v1alpha1.NextStartStatus) {
	c.t.Helper()
	e.Status.AtNextStart = &status
	if err := admin.Status().Update(c.t.Context(), e); err != nil {
		c.t.Fatal(err)
	}
}

// plain is a pod that anExporter selects, with the container app, which has no environment.
func plain() *corev1.Pod {
	p := &corev1.Pod{}
	p.Name = "new"
	p.Labels = map[string]string{"app": "dummyapp"}
	p.Spec.Containers = []corev1.Container{{Name: "app", Image: appImage}}
	return p
}

// valued is plain with JDK_JAVA_OPTIONS.
func valued(value string) *corev1.Pod {
	p := plain()
	p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: variable, Value: value}}
	return p
}

// mutated returns the pod as the API server would create it.
func (c *cluster) mutated(pod *corev1.Pod, hows ...func(*corev1.Pod)) *corev1.Pod {
	c.t.Helper()
	pod.Namespace = c.namespace
	for _, how := range hows {
		how(pod)
	}
	if err := admin.Create(c.t.Context(), pod, client.DryRunAll); err != nil {
		c.t.Fatal(err)
	}
	return pod
}

// env is the environment of a pod's containers, init containers last: name=value, sorted as in the pod.
func env(pod *corev1.Pod) string {
	var all []string
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range containers {
			for _, e := range c.Env {
				value := e.Value
				if e.ValueFrom != nil {
					value = "(reference)"
				}
				all = append(all, fmt.Sprintf("%s: %s=%s", c.Name, e.Name, value))
			}
		}
	}
	return strings.Join(all, "\n")
}

// eventuallyAdmits waits until the policy makes of a pod what is wanted: the exporters that it
// sees are those of an informer.
func (c *cluster) eventuallyAdmits(want string, pod func() *corev1.Pod) {
	c.t.Helper()
	var got string
	if !soon(c.t, func() bool { got = env(c.mutated(pod())); return got == want }) {
		c.t.Fatalf("environment of the pod (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// What the policy makes of each kind of existing environment, without an operator.
func TestNextStartEnvironment(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	c.allowing("exporter", nil)
	added := "app: " + variable + "=" + option
	wide := strings.Repeat("é", 16<<10+1) // two bytes each
	c.eventuallyAdmits(added, plain)
	for name, tc := range map[string]struct {
		change func(*corev1.Container)
		want   string
	}{
		"no environment":      {func(*corev1.Container) {}, added},
		"other variables":     {func(c *corev1.Container) { c.Env = variables("A", "1") }, "app: A=1\n" + added},
		"an empty value":      {func(c *corev1.Container) { c.Env = variables(variable, "") }, added},
		"a value":             {func(c *corev1.Container) { c.Env = variables("A", "1", variable, "-Xmx1g", "B", "2") }, "app: A=1\n" + added + " -Xmx1g\napp: B=2"},
		"a quoted value":      {func(c *corev1.Container) { c.Env = variables(variable, `-Da="b c" 'd`) }, added + ` -Da="b c" 'd`},
		"a value with a $(…)": {func(c *corev1.Container) { c.Env = variables("A", "1", variable, "-Da=$(A)") }, "app: A=1\n" + added + " -Da=$(A)"},
		"a value of another image": {func(c *corev1.Container) {
			c.Env, c.Image = variables(variable, "-Xmx1g"), "registry.example/app:2"
		}, added + " -Xmx1g"},
		"the option":               {func(c *corev1.Container) { c.Env = variables(variable, "-Xmx1g "+option) }, "app: " + variable + "=-Xmx1g " + option},
		"the option denied":        {func(c *corev1.Container) { c.Env = variables(variable, "-XX:-EnableDynamicAgentLoading") }, "app: " + variable + "=-XX:-EnableDynamicAgentLoading"},
		"denied elsewhere":         {func(c *corev1.Container) { c.Env = variables("JAVA_TOOL_OPTIONS", "-XX:-EnableDynamicAgentLoading") }, "app: JAVA_TOOL_OPTIONS=-XX:-EnableDynamicAgentLoading"},
		"denied by an argument":    {func(c *corev1.Container) { c.Args = []string{"-XX:-EnableDynamicAgentLoading"} }, ""},
		"denied by the command":    {func(c *corev1.Container) { c.Command = []string{"java", "-XX:-EnableDynamicAgentLoading"} }, ""},
		"used by another":          {func(c *corev1.Container) { c.Env = variables("OPTS", "$("+variable+")") }, "app: OPTS=$(" + variable + ")"},
		"used by the command":      {func(c *corev1.Container) { c.Command = []string{"sh", "-c", "exec java $" + variable} }, ""},
		"used by an argument":      {func(c *corev1.Container) { c.Args = []string{"$(" + variable + ")"} }, ""},
		"set twice":                {func(c *corev1.Container) { c.Env = variables(variable, "-Da", variable, "-Db") }, "app: " + variable + "=-Da\napp: " + variable + "=-Db"},
		"a reference":              {reference, "app: " + variable + "=(reference)"},
		"envFrom":                  {envFrom, ""},
		"envFrom and a value":      {func(c *corev1.Container) { envFrom(c); c.Env = variables(variable, "-Xmx1g") }, added + " -Xmx1g"},
		"the longest value":        {func(c *corev1.Container) { c.Env = variables(variable, strings.Repeat("x", 32<<10)) }, added + " " + strings.Repeat("x", 32<<10)},
		"a value that is too long": {func(c *corev1.Container) { c.Env = variables(variable, strings.Repeat("x", 32<<10+1)) }, "app: " + variable + "=" + strings.Repeat("x", 32<<10+1)},
		// The kernel limits a string of the environment in bytes (MAX_ARG_STRLEN, execve(2)).
		"a value too long in bytes": {func(c *corev1.Container) { c.Env = variables(variable, wide) }, "app: " + variable + "=" + wide},
		"an image not observed":     {func(c *corev1.Container) { c.Image = "registry.example/app:2" }, ""},
		"a name not observed":       {func(c *corev1.Container) { c.Name = "web" }, ""},
	} {
		if got := env(c.mutated(plain(), func(p *corev1.Pod) { tc.change(&p.Spec.Containers[0]) })); got != tc.want {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(tc.want, got))
		}
	}
}

// variables returns variables, by name and value in turn.
func variables(pairs ...string) []corev1.EnvVar {
	var all []corev1.EnvVar
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

func reference(c *corev1.Container) {
	c.Env = []corev1.EnvVar{{Name: variable, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "options"}, Key: "java"},
	}}}
}

func envFrom(c *corev1.Container) {
	c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "options"}}}}
}
