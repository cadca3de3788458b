package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

const (
	mib         = 1 << 20
	isPreflight = "JavaFound Preflight"
)

// mode changes the mode of an exporter.
func (c *cluster) mode(e *v1alpha1.PrometheusJmxExporter, is v1alpha1.Mode) {
	c.t.Helper()
	change(c.t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = is })
}

// preflight creates an exporter in mode Preflight.
func (c *cluster) preflight(name string) *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	e := c.anExporter(name)
	e.Spec.Mode = v1alpha1.ModePreflight
	return create(c.t, e)
}

// found summarizes a preflight's report: attachable, pending, each reason, and its condition.
func (c *cluster) found(e *v1alpha1.PrometheusJmxExporter) string {
	c.t.Helper()
	get(c.t, e)
	p := e.Status.Preflight
	if p == nil {
		return "nothing"
	}
	says := []string{p.Attachable, fmt.Sprintf("pending %d", p.Pending)}
	for _, r := range p.Reasons {
		says = append(says, fmt.Sprintf("%s %d %s", r.Reason, r.Count, strings.Join(r.Pods, " ")))
	}
	complete := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionPreflightComplete)
	return strings.Join(append(says, fmt.Sprintf("%s %s", complete.Status, complete.Reason)), ", ")
}

// expectFound checks a preflight's report.
func (c *cluster) expectFound(when string, e *v1alpha1.PrometheusJmxExporter, want string) {
	c.t.Helper()
	if got := c.found(e); got != want {
		c.t.Errorf("%s: report of %s: got %q, want %q", when, e.Name, got, want)
	}
}

// mixed is a fleet in mode Preflight: two pods can be attached to, and each other pod has
// a different reason why not.
func mixed(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	roomy, warns, tight := aPod("app-0"), aPod("app-1"), aPod("app-3")
	roomy.jvms["app"][0].Memory = &helperapi.Memory{Limit: 1024 * mib, Free: 301 * mib}
	warns.jvms["app"][0].LoadWarns = true
	tight.jvms["app"][0].Memory = &helperapi.Memory{Limit: 512 * mib, Free: 21 * mib}
	disabled, windows := aPod("app-2"), aPod("app-5")
	disabled.jvms["app"][0].Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "The container says AttachDisabled."}
	windows.pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	for _, pod := range []*podBuilder{roomy, warns, disabled, tight, aPod("app-4"), windows} {
		f.pods = append(f.pods, f.run(pod))
	}
	f.container(f.pods[4]).Fault = fault(v1alpha1.ReasonNoShell)
	f.configure(rules)
	f.exporter = f.preflight("exporter")
	return f
}

const mixedFound = "2/6, pending 0, AttachDisabled 1 app-2, InsufficientMemory 1 app-3, NoShell 1 app-4, UnsupportedOS 1 app-5, True PodsInspected"

// A preflight inspects and reports, loads nothing and leaves nothing behind, and then stays
// idle; mode Attach continues from its inspection.
func TestPreflight(t *testing.T) {
	t.Parallel()
	f := mixed(t)
	f.expect("the mode is Preflight", isPreflight, isPreflight, "Discovered AttachDisabled", "JavaFound InsufficientMemory", "Discovered NoShell", "Discovered UnsupportedOS")
	f.expectFound("the mode is Preflight", f.exporter, mixedFound)
	found := f.exporter.Status.Preflight
	if found.LoadWarnings != 1 || !slices.Equal(found.Transports, []v1alpha1.TransportCount{{Transport: v1alpha1.TransportEphemeralContainer, Count: 1}, {Transport: v1alpha1.TransportExec, Count: 2}}) {
		t.Errorf("warnings and transports in the report: got %+v", found)
	}
	if m := found.Memory; m == nil || m.Minimum == nil || m.Minimum.String() != "16Mi" || m.Pod != "app-3" || m.Unlimited != 2 {
		t.Errorf("memory in the report: got %+v", m)
	}
	if says := found.Reasons[1].Message; !strings.Contains(says, "97 MiB") || !strings.Contains(says, "16Mi") {
		t.Errorf("message about app-3: got %q", says)
	}
	f.expectSums("the mode is Preflight", "3/0/6, Ready False Preflight, Stalled False Reconciled")
	if table := f.table("prometheusjmxexporters"); !strings.Contains(table, "2/6") {
		t.Errorf("the table does not show 2/6:\n%s", table)
	}
	for _, verb := range f.containers.Called() {
		if verb != helperapi.VerbInspect {
			t.Errorf("helper operation %s was run, want inspect only", verb)
		}
	}
	for _, pod := range f.pods {
		if f.container(pod).Helper || len(f.annotations(pod)) > 0 {
			t.Errorf("the helper or annotations remain in %s", pod.Name)
		}
	}
	var services corev1.ServiceList
	if f.list(&services); len(services.Items) > 0 || f.exporter.Status.ServiceName != "" {
		t.Errorf("got Services %v, want none", services.Items)
	}
	if events := f.o.events.with(v1alpha1.ReasonPodsInspected); len(events) != 1 {
		t.Errorf("%s Events: got %v, want one", v1alpha1.ReasonPodsInspected, events)
	}

	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("effects without a change: got %q, want none", f.o.did())
	}

	f.mode(f.exporter, v1alpha1.ModeAttach)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the mode is Attach", isAnnotated, isAnnotated, "Discovered AttachDisabled", isAnnotated, "Discovered NoShell", "Discovered UnsupportedOS")
	f.expectFound("the mode is Attach", f.exporter, "nothing")
	for _, pod := range f.pods[:3] {
		if looks := f.container(pod).Looks; looks != 1 {
			t.Errorf("inspections of %s: got %d, want 1", pod.Name, looks)
		}
	}
	if c := meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionPreflightComplete); c != nil {
		t.Errorf("condition PreflightComplete still exists: %+v", c)
	}
}

// Deleting a preflight executes nothing in the pods, which contain nothing of the operator.
func TestPreflightDeleted(t *testing.T) {
	t.Parallel()
	f := mixed(t)
	f.o.settle()
	f.containers.Called()
	remove(t, f.exporter)
	f.garbageCollect()
	f.o.outlast()
	if called := f.containers.Called(); len(called) > 0 {
		t.Errorf("helper operations: got %v, want none", called)
	}
	for _, pod := range f.pods {
		if f.attachment(pod) != nil {
			t.Errorf("the JmxAttachment of %s still exists", pod.Name)
		}
	}
}

// A smaller memoryHeadroom is evaluated with the existing inspection.
func TestPreflightHeadroom(t *testing.T) {
	t.Parallel()
	f := mixed(t)
	f.o.settle()
	f.containers.Called()
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.MemoryHeadroom = new(resource.MustParse("8Mi")) })
	f.o.settle()
	f.expectFound("memoryHeadroom is 8Mi", f.exporter, strings.Replace(strings.Replace(mixedFound, "2/6", "3/6", 1), "InsufficientMemory 1 app-3, ", "", 1))
	if looks := f.container(f.pods[3]).Looks; looks != 1 {
		t.Errorf("inspections of %s: got %d, want 1", f.pods[3].Name, looks)
	}
}

// An exporter in mode Attach gets the pods, even if it is younger; of two preflights, the
// older gets them. An inspection is handed over with the JmxAttachment.
func TestPreflightNeverCompetes(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.mode(f.exporter, v1alpha1.ModePreflight)
	s := &story{f.cluster, f.pods[0], f.exporter}
	second := s.heir(func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Mode = v1alpha1.ModePreflight })
	f.expect("both exporters are in mode Preflight", isPreflight)
	f.expectFound("both exporters are in mode Preflight", f.exporter, "1/1, pending 0, True PodsInspected")
	f.expectFound("both exporters are in mode Preflight", second, "0/1, pending 0, PodClaimed 1 app-0, True PodsInspected")

	attaching := create(t, f.anExporter("attaching"))
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("one attaches", isAnnotated)
	for _, e := range []*v1alpha1.PrometheusJmxExporter{f.exporter, second} {
		f.expectFound("one attaches", e, "0/1, pending 0, PodClaimed 1 app-0, True PodsInspected")
	}
	if a := f.attachment(f.pods[0]); a.Spec.Exporter.UID != attaching.UID || f.container(f.pods[0]).Looks != 1 {
		t.Errorf("inspections: got %d, want 1; the pod belongs to %s", f.container(f.pods[0]).Looks, a.Spec.Exporter.Name)
	}
	f.later(2 * time.Minute)
	f.o.settle()

	remove(t, attaching)
	f.garbageCollect()
	f.o.tire()
	f.expect("the attaching exporter is deleted", isPreflight)
	if j := f.jvm(f.pods[0]); j.Unloads != 1 || len(f.annotations(f.pods[0])) > 0 {
		t.Errorf("got %d unloads and annotations %v, want one and none", j.Unloads, f.pods[0].Annotations)
	}
	f.expectFound("the attaching exporter is deleted", f.exporter, "1/1, pending 0, True PodsInspected")
}

// Pods that are attached when the mode changes keep serving, even if an older exporter
// is in mode Preflight; nothing new is attached or changed.
func TestAttachedInPreflight(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.mode(f.exporter, v1alpha1.ModePreflight)
	older := f.exporter
	f.exporter = (&story{f.cluster, f.pods[0], older}).heir(nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the pod is attached", isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	before := f.endpoints(f.exporter)

	f.mode(f.exporter, v1alpha1.ModePreflight)
	f.configure(changed)
	f.expect("the mode is Preflight", isAnnotated)
	f.expectFound("the mode is Preflight", f.exporter, "1/1, pending 0, True PodsInspected")
	f.expectFound("the mode is Preflight", older, "0/1, pending 0, PodClaimed 1 app-0, True PodsInspected")
	f.expectSums("the mode is Preflight", "0/1/1, Ready False Preflight, Stalled False Reconciled")
	if ready := meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "Existing endpoints keep serving.") {
		t.Errorf("message of Ready does not say that existing endpoints keep serving: %q", ready.Message)
	}
	f.expectAsked("the mode is Preflight", "1")
	if got := f.endpoints(f.exporter); got != before || got == "" {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
	}
	if j := f.jvm(f.pods[0]); j.Unloads > 0 || !j.Running() {
		t.Errorf("unloads: got %d, want none", j.Unloads)
	}

	f.restart(f.pods[0])
	f.expect("the container restarts", isPreflight)
	if f.container(f.pods[0]).Helper {
		t.Error("the helper remains in the container")
	}
	if diff := cmp.Diff("", f.endpoints(f.exporter)); diff != "" {
		t.Errorf("endpoints of the exporter (-want +got):\n%s", diff)
	}
}
