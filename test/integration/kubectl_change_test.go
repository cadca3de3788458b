package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	v1alpha1ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// changer are the rights that the commands that change something need.
func changer() []rbacv1.PolicyRule {
	return append(viewer(),
		allow("banzaicloud.com", "prometheusjmxexporters", "patch", "create", "delete"),
		allow("banzaicloud.com", "jmxattachments", "delete"),
		allow("", "pods", "patch"))
}

// An exporter that a person pauses attaches to no further pod until it is resumed.
func TestKubectlPause(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	k := aKubectl(t, "pauser", f.namespace, changer()...)
	if got, want := k.must("pause", "-n", f.namespace, "exporter"), "exporter exporter is paused; to resume: kubectl jmx resume -n "+f.namespace+" exporter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := k.must("pause", "-n", f.namespace, "exporter"); !strings.Contains(got, "paused already") {
		t.Errorf("a second pause: got %q", got)
	}
	f.pods = append(f.pods, f.run(aPod("app-9")))
	f.expect("the exporter is paused", isAnnotated, isAnnotated, "JavaFound Suspended")
	if managers := managersOf(f.exporter, t); !strings.Contains(managers, "kubectl-jmx") {
		t.Errorf("field managers of the exporter: got %q, want kubectl-jmx among them", managers)
	}
	if got, want := k.must("resume", "-n", f.namespace, "exporter", "-o", "jsonpath={.kind} {.metadata.name}{.spec.suspend}{.metadata.managedFields}"), "PrometheusJmxExporter exporter"; got != want {
		t.Errorf("resume with a JSONPath template: got %q, want %q", got, want)
	}
	f.expect("the exporter is resumed", isAnnotated, isAnnotated, isAnnotated)
	if got := k.must("resume", "-n", f.namespace, "exporter"); !strings.Contains(got, "neither paused nor halted") {
		t.Errorf("a second resume: got %q", got)
	}
	if got, want := k.must("pause", "-n", f.namespace, "exporter", "-o", "name"), "prometheusjmxexporter.banzaicloud.com/exporter\n"; got != want {
		t.Errorf("pause -o name: got %q, want %q", got, want)
	}
}

func managersOf(e *v1alpha1.PrometheusJmxExporter, t *testing.T) string {
	t.Helper()
	get(t, e)
	var all []string
	for _, f := range e.ManagedFields {
		all = append(all, f.Manager)
	}
	return strings.Join(all, " ")
}

// A pause of an exporter that a GitOps tool applies notes that the tool may undo it.
func TestKubectlPauseOfAnAppliedExporter(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	applied := v1alpha1ac.PrometheusJmxExporter("exporter", c.namespace).WithSpec(v1alpha1ac.PrometheusJmxExporterSpec().
		WithLabelSelector(map[string]v1alpha1.LabelValue{"app": "dummyapp"}).WithSuspend(false).
		WithConfig(v1alpha1ac.ConfigMapKey().WithConfigMapName("rules").WithConfigMapKey("config.yaml")))
	if err := admin.Apply(t.Context(), applied, client.FieldOwner("gitops")); err != nil {
		t.Fatal(err)
	}
	k := aKubectl(t, "gitops-user", c.namespace, changer()...)
	_, stderr, err := k.run(t.Context(), "pause", "-n", c.namespace, "exporter")
	if err != nil || !strings.Contains(stderr, `note: this object is applied by gitops:`) {
		t.Errorf("got error %v, and on standard error %q", err, stderr)
	}
}

// A halted rollout continues when a person resumes it, also if it is paused meanwhile: a
// pause does not end a halt.
func TestKubectlResume(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(changed)
	f.expect("the canary rejects the configuration", "Staged ConfigRejected", isAnnotated, isAnnotated)
	f.jvm(f.pods[0]).Fault = nil
	k := aKubectl(t, "resumer", f.namespace, changer()...)
	k.must("pause", "-n", f.namespace, "exporter")
	f.o.settle()
	if get(t, f.exporter); f.exporter.Status.Halt == nil {
		t.Error("the pause ended the halt")
	}
	if got := k.must("resume", "-n", f.namespace, "exporter"); !strings.Contains(got, "it was halted: ") {
		t.Errorf("resume: got %q, want why it was halted", got)
	}
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the rollout is complete", isAnnotated, isAnnotated, isAnnotated)
	if get(t, f.exporter); f.exporter.Status.Halt != nil || f.exporter.Spec.Suspend {
		t.Errorf("after the resume: got halt %v and suspend %v", f.exporter.Status.Halt, f.exporter.Spec.Suspend)
	}
}

// A terminal obeys nothing in the message of a halt, which may quote a container.
func TestKubectlResumeEscapes(t *testing.T) {
	t.Parallel()
	s := aShop(t, "escaped")
	s.fill()
	s.ledger.Status.Halt.Message = "Container app says \x1b[2J."
	s.status(s.ledger, s.ledger.Status)
	k := aKubectl(t, "escaper", s.namespace, changer()...)
	if got := k.must("resume", "-n", s.namespace, "ledger"); !strings.Contains(got, "Container app says ?[2J.") {
		t.Errorf("resume: got %q", got)
	}
}

// A retried pod is tried at once, and no agent is loaded a second time.
func TestKubectlRetry(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), nil)
	refused := s.run(aPod("app-1"))
	s.jvm(refused).Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "The container says AttachDisabled."}
	o.settle()
	if got := phaseOf(s.attachment(refused)); got != "Discovered AttachDisabled" {
		t.Fatalf("app-1 is %q, not refused", got)
	}
	s.jvm(refused).Refusal = nil
	k := aKubectl(t, "retrier", s.namespace, changer()...)
	for _, pod := range []*corev1.Pod{s.pod, refused} {
		record := s.attachment(pod).Name
		if got, want := k.must("retry", "-n", s.namespace, pod.Name, "-o", "name"), "jmxattachment.banzaicloud.com/"+record+"\n"; got != want {
			t.Errorf("retry -o name: got %q, want %q", got, want)
		}
	}
	o.settle()
	s.later(time.Minute) // a canary is waited for
	o.settle()
	for _, pod := range []*corev1.Pod{s.pod, refused} {
		if got := phaseOf(s.attachment(pod)); got != isAnnotated || s.jvm(pod).Loads != 1 {
			t.Errorf("%s after the retry: got phase %q and %d loads, want Annotated and one", pod.Name, got, s.jvm(pod).Loads)
		}
	}
	k.fails([]string{"retry", "-n", s.namespace, "none"}, "no exporter has a record of pod none", "kubectl jmx why")
}

// A pod that a person detaches from has no agent, and gets one again after --undo. Without
// --yes, a program that cannot be asked changes nothing.
func TestKubectlDetach(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), nil)
	k := aKubectl(t, "detacher", s.namespace, changer()...)
	k.fails([]string{"detach", "-n", s.namespace, "app-0"}, "The application keeps running", "--yes")
	if o.settle(); o.count() > 0 {
		t.Errorf("effects without a confirmation: got %q, want none", o.did())
	}
	if got, want := k.must("detach", "-n", s.namespace, "app-0", "--yes", "-o", "name"), "pod/app-0\n"; got != want {
		t.Errorf("detach -o name: got %q, want %q", got, want)
	}
	o.settle()
	s.garbageCollect()
	if a, j := s.attachment(s.pod), s.jvm(s.pod); a != nil || j.Unloads != 1 {
		t.Errorf("the pod is not detached: %v", a)
	}
	if got := k.must("why", "-n", s.namespace, "app-0"); !strings.Contains(got, "kubectl jmx detach --undo -n "+s.namespace+" app-0") {
		t.Errorf("why says nothing of --undo:\n%s", got)
	}
	k.must("detach", "-n", s.namespace, "app-0", "--undo")
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != isAnnotated {
		t.Errorf("after --undo: got phase %q, want Annotated", got)
	}
	k.fails([]string{"detach", "-n", s.namespace, "none", "--yes"}, "there is no pod none")
}

// A user who may only read changes nothing; the error names the right that is missing.
func TestKubectlHasNoRightsOfItsOwn(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), nil)
	k := aKubectl(t, "onlooker", s.namespace, viewer()...)
	for verb, args := range map[string][]string{
		"patch":  {"pause", "exporter"},
		"delete": {"retry", "app-0"},
		"create": {"preflight", "-l", "app=dummyapp"},
	} {
		k.fails(append(args, "-n", s.namespace), `User "onlooker" cannot `+verb+" resource", "no rights but yours")
	}
	k.fails([]string{"detach", "app-0", "--yes", "-n", s.namespace}, `User "onlooker" cannot patch resource "pods"`)
	if o.settle(); o.count() > 0 {
		t.Errorf("effects: got %q, want none", o.did())
	}
	nobody := aKubectl(t, "nobody", s.namespace)
	nobody.fails([]string{"status", "-n", s.namespace}, `User "nobody" cannot list resource "prometheusjmxexporters"`, "kubectl auth can-i --list")
}
