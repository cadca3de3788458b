package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// startable is a pod with a JVM whose environment was inspected.
func startable(name, javaOptions string, how func(*corev1.Container)) *podBuilder {
	p := aPod(name)
	p.pod.Spec.Containers[0].Image = appImage
	if how != nil {
		how(&p.pod.Spec.Containers[0])
	}
	j := p.jvms["app"][0]
	j.Version, j.LoadWarns, j.JavaOptions = "25.0.3", true, javaOptions
	return p
}

// nextStarts summarizes status.atNextStart: each container, and each that is skipped.
func (c *cluster) nextStarts(e *v1alpha1.PrometheusJmxExporter) string {
	c.t.Helper()
	get(c.t, e)
	if e.Status.AtNextStart == nil {
		return "nothing"
	}
	var all []string
	for _, o := range e.Status.AtNextStart.Containers {
		all = append(all, o.Name+" "+o.Image)
	}
	for _, s := range e.Status.AtNextStart.Skipped {
		all = append(all, s.Name+" skipped "+s.Reason+" "+s.Pod)
	}
	return strings.Join(all, ", ")
}

// The operator sees that an image sets no JDK_JAVA_OPTIONS, and the policy adds the variable to the
// next pod; that stays known of the pods that have it, without the operator, and until a JVM
// contradicts it.
func TestNextStart(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	f := &fleet{cluster: c}
	f.o = f.operate()
	f.configure(rules)
	e := c.anExporter("exporter")
	f.exporter = create(t, e)
	first := f.run(startable("app-0", "Absent", nil))
	f.pods = append(f.pods, first)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("an agent is loaded", isAnnotated)
	if got := c.nextStarts(e); got != "nothing" {
		t.Errorf("without spec.atNextStart: status.atNextStart is %q, want none", got)
	}
	if got := f.attachment(first).Status; got.AgentLoading != v1alpha1.AgentLoadingWarns || got.Processes[0].JavaOptions != v1alpha1.JavaOptionsAbsent {
		t.Errorf("record: got %q, %q, want Warns, Absent", got.AgentLoading, got.Processes[0].JavaOptions)
	}

	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.AtNextStart = v1alpha1.NextStartAllowAttach })
	f.o.settle()
	want := "app " + appImage
	if got := c.nextStarts(e); got != want {
		t.Fatalf("with spec.atNextStart: status.atNextStart is %q, want %q", got, want)
	}
	if got := env(first); got != "" {
		t.Errorf("the running pod has %q, want no variable", got)
	}
	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("effects without a change: got %q, want none", f.o.did())
	}

	c.eventuallyAdmits(added, plain)
	second := startable("app-1", "Set", nil)
	second.jvms["app"][0].LoadWarns, second.jvms["app"][0].LoadAllowed = false, true
	remove(t, first)
	f.pods = []*corev1.Pod{f.run(second)}
	if got := env(f.pods[0]); got != added {
		t.Fatalf("the next pod (-want +got):\n%s", cmp.Diff(added, got))
	}
	f.garbageCollect()
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the next pod is attached to", isAnnotated)
	if got := c.nextStarts(e); got != want {
		t.Errorf("after the next start: status.atNextStart is %q, want %q", got, want)
	}
	if got := f.attachment(f.pods[0]).Status.AgentLoading; got != v1alpha1.AgentLoadingAllowed {
		t.Errorf("record of the next pod: got %q, want Allowed", got)
	}

	// Somebody else's webhook, or an older policy, did not add it; and the image sets one after all.
	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Annotations = map[string]string{"example.com/changed": "1"} })
	third := startable("app-2", "Set", func(c *corev1.Container) { c.Image = "registry.example/app:2" })
	f.pods = append(f.pods, f.run(third))
	f.o.settle()
	f.later(5 * time.Second)
	f.o.settle()
	if got, want := c.nextStarts(e), want+", app skipped SetByImage app-2"; got != want {
		t.Errorf("with an image that sets the variable: status.atNextStart is %q, want %q", got, want)
	}
	if got := env(f.pods[1]); got != "" {
		t.Errorf("the pod whose image sets the variable has %q, want none", got)
	}

	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.AtNextStart = "" })
	f.o.settle()
	if got := c.nextStarts(e); got != "nothing" {
		t.Errorf("without spec.atNextStart again: status.atNextStart is %q, want none", got)
	}
	c.eventuallyAdmits("", plain)
}

// Once the only container that is known is gone, or contradicts what was known, nothing is.
func TestNextStartForgotten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	f := &fleet{cluster: c}
	f.o = f.operate()
	f.configure(rules)
	e := c.anExporter("exporter")
	e.Spec.AtNextStart = v1alpha1.NextStartAllowAttach
	create(t, e)
	set := f.run(startable("a", "Set", nil))
	f.o.settle()
	if got, want := c.nextStarts(e), "app skipped SetByImage a"; got != want {
		t.Errorf("a JVM has the variable: status.atNextStart is %q, want %q", got, want)
	}
	remove(t, set)
	f.garbageCollect()
	f.o.settle()
	if got := c.nextStarts(e); got != "nothing" {
		t.Errorf("its pod is deleted: status.atNextStart is %q, want none", got)
	}
	absent := f.run(startable("b", "Absent", nil))
	f.o.settle()
	remove(t, absent)
	f.garbageCollect()
	f.o.settle()
	if got, want := c.nextStarts(e), "app "+appImage; got != want {
		t.Errorf("the pod of an image without the variable is deleted: status.atNextStart is %q, want %q", got, want)
	}
	f.run(startable("c", "Set", nil))
	f.o.settle()
	if got, want := c.nextStarts(e), "app skipped SetByImage c"; got != want {
		t.Errorf("a JVM of the image has it after all: status.atNextStart is %q, want %q", got, want)
	}
}

// The reasons for which containers are skipped, with what to do; and a preflight's sum.
func TestNextStartSkipped(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	f := &fleet{cluster: c}
	f.o = f.operate()
	f.configure(rules)
	e := c.anExporter("exporter")
	e.Spec.Mode, e.Spec.AtNextStart = v1alpha1.ModePreflight, v1alpha1.NextStartAllowAttach
	create(t, e)
	java8 := startable("h", "Ignored", nil)
	java8.jvms["app"][0].Version, java8.jvms["app"][0].LoadWarns = "1.8.0_504", false
	java17 := startable("j", "Absent", nil)
	java17.jvms["app"][0].Version, java17.jvms["app"][0].LoadWarns = "17.0.15", false
	allowed := startable("k", "Set", func(c *corev1.Container) { c.Env = variables(variable, option) })
	allowed.jvms["app"][0].LoadWarns, allowed.jvms["app"][0].LoadAllowed = false, true
	denied := startable("i", "Absent", nil)
	denied.jvms["app"][0].LoadWarns, denied.jvms["app"][0].LoadDenied = false, true
	denied.jvms["app"][0].Refusal = &helperapi.Error{Reason: helperapi.ReasonAgentLoadingDisabled, Message: "Disabled."}
	for _, p := range []*podBuilder{
		startable("a", "Absent", nil),
		startable("b", "Set", func(c *corev1.Container) { c.Env = variables(variable, "-Da") }),
		startable("c", "Set", reference),
		startable("d", "Absent", envFrom),
		startable("e", "Set", func(c *corev1.Container) { c.Image = "registry.example/own:1" }),
		startable("f", "Absent", func(c *corev1.Container) { c.Image = "registry.example/app" }),
		startable("g", "Absent", func(c *corev1.Container) { c.Args = []string{"$(" + variable + ")"} }),
		java8, denied, java17, allowed,
		startable("l", "", func(c *corev1.Container) { c.Image = "registry.example/unknown:1" }),
	} {
		if p == java8 || p == denied {
			p.pod.Spec.Containers[0].Image = "registry.example/" + p.pod.Name + ":1"
		}
		f.run(p)
	}
	f.o.settle()
	want := "app " + appImage + ", app skipped VariableNotRead h, app skipped LoadingDenied i, app skipped SetFromReference c, " +
		"app skipped MayBeSetFromReference d, app skipped SetByImage e, app skipped ImageNotPinned f, app skipped VariableUsed g"
	if got := c.nextStarts(e); got != want {
		t.Errorf("status.atNextStart (-want +got):\n%s", cmp.Diff(want, got))
	}
	for _, s := range e.Status.AtNextStart.Skipped {
		if !strings.HasPrefix(s.Message, "Container app in pod "+s.Pod+" ") || len(s.Message) < 80 {
			t.Errorf("%s: message is %q", s.Reason, s.Message)
		}
	}
	// a to g, j and l warn, now or after an upgrade, and h after one from Java 8; a and b are covered.
	if p := e.Status.Preflight; p.UpgradeWarnings != 10 || p.CoveredAtNextStart != 2 || p.LoadWarnings != 8 {
		t.Errorf("preflight: got %d of %d covered, %d warn now, want 2 of 10, and 8", p.CoveredAtNextStart, p.UpgradeWarnings, p.LoadWarnings)
	}
	table := f.table("jmxattachments")
	for _, kind := range []v1alpha1.AgentLoading{v1alpha1.AgentLoadingAllowed, v1alpha1.AgentLoadingWarns, v1alpha1.AgentLoadingWarnsAfterUpgrade, v1alpha1.AgentLoadingDenied} {
		if !strings.Contains(table, string(kind)) {
			t.Errorf("the table does not show %s:\n%s", kind, table)
		}
	}
}
