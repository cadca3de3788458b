package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// What makes the configuration of an exporter invalid, and its reason.
var invalid = map[string]struct {
	make func(*story)
	want string
}{
	"the ConfigMap is not YAML": {func(s *story) { s.configure("rules: {") }, v1alpha1.ReasonConfigNotYAML},
	"the ConfigMap is deleted": {func(s *story) {
		remove(s.t, &corev1.ConfigMap{ObjectMeta: s.named("rules")})
	}, v1alpha1.ReasonConfigMapMissing},
	"the exporter refers to another key": {func(s *story) {
		change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapKey = "other.yaml" })
	}, v1alpha1.ReasonConfigKeyMissing},
}

// While the configuration is invalid, a container that restarts gets the one that its pod
// was granted, also from an operator that was started since; new pods wait.
func TestLastValidConfiguration(t *testing.T) {
	t.Parallel()
	for name, tc := range invalid {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			tc.make(s)
			o.settle()
			had := s.attachment(s.pod).Status.Processes[0].ConfigSHA256
			added := s.run(aPod("app-1"))
			for _, who := range []struct {
				name string
				*operator
			}{{"the same operator", o}, {"another operator", s.operate()}} {
				s.restart(s.pod)
				who.settle()
				if got := phaseOf(s.attachment(s.pod)); got != isAnnotated {
					t.Fatalf("%s: phase of the pod: got %q, want %s", who.name, got, isAnnotated)
				}
				if got := s.attachment(s.pod).Status.Processes[0].ConfigSHA256; got != had {
					t.Errorf("%s: the agent has the configuration %s, want %s", who.name, got, had)
				}
				s.prove(who.operator)
				if got := phaseOf(s.attachment(added)); got != "JavaFound "+tc.want {
					t.Errorf("%s: phase of a new pod: got %q, want JavaFound %s", who.name, got, tc.want)
				}
				get(t, s.exporter)
				for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ConditionConfigValid: metav1.ConditionFalse, v1alpha1.ConditionReady: metav1.ConditionFalse} {
					if c := meta.FindStatusCondition(s.exporter.Status.Conditions, kind); c.Status != want || c.Reason != tc.want {
						t.Errorf("%s: condition %s of the exporter: got %s %s, want %s %s", who.name, kind, c.Status, c.Reason, want, tc.want)
					}
				}
			}
		})
	}
}

// While the Secret is invalid, a container that restarts waits: it is never served without
// the security that was asked for, which is kept nowhere. It keeps its grant, and the
// configuration of it, until the Secret is mended.
func TestLastValidConfigurationWithSecret(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	secret := create(t, c.secretFor())
	p := &securedPod{&story{c, c.run(aPod("app-0")), c.exportSecured()}, c.operate()}
	p.expect("the Secret is valid", v1alpha1.ReasonValid, isAnnotated, "https")
	p.prove(p.o)
	had := p.attachment(p.pod).Status.Processes[0]
	p.keepNothingOf(secret)

	good := secret.DeepCopy().Data
	change(t, secret, func(s *corev1.Secret) { delete(s.Data, corev1.TLSPrivateKeyKey) })
	p.later(2 * source.SecretPeriod)
	p.restart(p.pod)
	p.expect("the Secret is invalid", v1alpha1.ReasonSecretInvalid, "JavaFound SecretInvalid", "")
	if loads := p.jvm(p.pod).Loads; loads > 0 || p.endpoints(p.exporter) != "" {
		t.Errorf("while the Secret is invalid, the agent was loaded %d times and serves at %q", loads, p.endpoints(p.exporter))
	}

	p.configure("rules: {")
	change(t, secret, func(s *corev1.Secret) { s.Data = good })
	p.later(2 * source.SecretPeriod)
	p.expect("the Secret is mended, and the ConfigMap is invalid", v1alpha1.ReasonConfigNotYAML, isAnnotated, "https")
	if got := p.attachment(p.pod).Status.Processes[0]; got.ConfigSHA256 != had.ConfigSHA256 || got.SecuritySHA256 != had.SecuritySHA256 {
		t.Errorf("the agent has configuration %s and security %s, want %s and %s", got.ConfigSHA256, got.SecuritySHA256, had.ConfigSHA256, had.SecuritySHA256)
	}
}

// keepNothingOf checks that ControllerRevisions have the configuration and nothing of a Secret.
func (p *securedPod) keepNothingOf(secret *corev1.Secret) {
	p.t.Helper()
	var list appsv1.ControllerRevisionList
	p.list(&list)
	if len(list.Items) == 0 {
		p.t.Fatal("nothing is kept")
	}
	for _, r := range list.Items {
		var data map[string][]byte
		if err := json.Unmarshal(r.Data.Raw, &data); err != nil {
			p.t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]byte{"configuration": []byte(rules)}, data); diff != "" {
			p.t.Errorf("data of ControllerRevision %s (-want +got):\n%s", r.Name, diff)
		}
		all, err := json.Marshal(r)
		if err != nil {
			p.t.Fatal(err)
		}
		for key, value := range secret.Data {
			if bytes.Contains(all, value) || bytes.Contains(all, []byte(base64.StdEncoding.EncodeToString(value))) {
				p.t.Errorf("ControllerRevision %s contains key %s of the Secret", r.Name, key)
			}
		}
	}
}

// In a rollout that an invalid configuration interrupts, each pod keeps the configuration
// that it was granted. Those that no pod has any more are deleted.
func TestLastValidConfigurations(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
		r.Canary.Count = new(int32(0))
	})
	f.expect("at first", isAnnotated, isAnnotated)
	f.expectKept("at first", 1)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Rollout.Canary = v1alpha1.Canary{Count: new(int32(1)), MinReadySeconds: new(int32(3600))}
	})
	f.configure(changed)
	f.expect("the canary has another configuration", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	f.expectKept("the canary has another configuration", 2)
	had := f.configs()
	if had[0] == had[1] {
		t.Fatalf("both pods have the configuration %s", had[0])
	}

	f.configure("rules: {")
	f.o.settle()
	for _, pod := range f.pods {
		f.restart(pod)
	}
	f.expect("both containers restart", isAnnotated, isAnnotated)
	if diff := cmp.Diff(had, f.configs()); diff != "" {
		t.Errorf("configurations after both containers restarted (-want +got):\n%s", diff)
	}
	f.expectKept("the configuration is invalid", 2)

	f.configure("lowercaseOutputLabelNames: true\n" + rules)
	f.o.settle()
	f.later(2 * time.Hour)
	f.expect("the configuration is mended", isAnnotated, isAnnotated)
	f.expectKept("the configuration is mended", 1)
	for _, pod := range f.pods {
		remove(t, pod)
	}
	f.garbageCollect()
	f.configure(rules)
	f.o.settle()
	f.expectKept("there are no pods", 0)
}

// A revision that was granted to a pod, and that it never had, reaches it no more once the
// configuration is invalid: its owner may have seen what is wrong with it.
func TestLastValidConfigurationThatNoPodHad(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
		r.Canary.Count = new(int32(0))
	})
	if _, err := f.o.exporters.Reconcile(t.Context(), requestFor(f.exporter)); err != nil {
		t.Fatal(err)
	}
	for _, pod := range f.pods {
		if f.attachment(pod).Spec.Revision == "" {
			t.Fatalf("pod %s is granted nothing", pod.Name)
		}
	}
	f.expectKept("the revision is granted", 1)
	f.configure("rules: {")
	f.expect("the configuration is invalid", "JavaFound ConfigNotYAML", "JavaFound ConfigNotYAML")
}

// A container that restarts in the middle of a rollout, which has not reached its pod, gets back
// at once what it had for ten minutes, also while that rollout is halted.
func TestProvenConfigurationDuringRollout(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, careful)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(11 * time.Minute)
	f.o.settle()
	had := f.configs()
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Rollout.Canary = v1alpha1.Canary{Count: new(int32(1)), MinReadySeconds: new(int32(24 * 3600))}
	})
	f.configure(changed)
	f.expect("the canary has another configuration", isAnnotated, isAnnotated, isAnnotated)
	restarted := func(when string, i int) {
		t.Helper()
		f.crash(f.pods[i], time.Hour)
		f.o.settle() // it has just started
		f.later(5 * time.Second)
		f.expect(when, isAnnotated, isAnnotated, isAnnotated)
		if got := f.configs()[i]; got != had[i] {
			t.Errorf("%s: the agent has the configuration %s, want %s", when, got, had[i])
		}
	}
	restarted("a container restarts during the rollout", 1)

	f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(badPattern)
	f.o.settle()
	if get(t, f.exporter); f.exporter.Status.Halt == nil {
		t.Fatal("the rollout is not halted")
	}
	f.crash(f.pods[2], time.Hour)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("a container restarts during the halt", "Staged ConfigRejected", isAnnotated, isAnnotated)
	if got := f.configs()[2]; got != had[2] {
		t.Errorf("during the halt, the agent has the configuration %s, want %s", got, had[2])
	}
}

// A container that restarts while the rollout of another configuration is halted gets what
// its pod had, and has proven.
func TestLastValidConfigurationDuringHalt(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(11 * time.Minute)
	f.o.settle()
	had := f.configs()[1]
	f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(badPattern)
	f.expect("the canary rejects the configuration", "Staged ConfigRejected", isAnnotated, isAnnotated)
	f.expectKept("the rollout is halted", 2)
	f.restart(f.pods[1])
	f.expect("a container restarts", "Staged ConfigRejected", isAnnotated, isAnnotated)
	if got := f.configs()[1]; got != had {
		t.Errorf("the agent has the configuration %s, want %s", got, had)
	}
	f.configure("rules: {")
	f.restart(f.pods[2])
	f.expect("the configuration is invalid, too", "Staged ConfigRejected", isAnnotated, isAnnotated)
}

// The largest configuration is kept, also if each of its characters is six bytes of JSON.
func TestLargestConfigurationIsKept(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	const most = 256 << 10
	content := "rules:\n- pattern: '"
	s.configure(content + strings.Repeat("<", most-len(content)-2) + "'\n")
	s.exporter = create(t, s.anExporter("exporter"))
	o.settle()
	s.isAnnotated("9400")
	s.prove(o)
	s.configure("rules: {")
	s.restart(s.pod)
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != isAnnotated {
		t.Errorf("phase of the pod: got %q, want %s", got, isAnnotated)
	}
}

// expectKept checks how many configurations are kept for the exporter.
func (f *fleet) expectKept(when string, want int) {
	f.t.Helper()
	var list appsv1.ControllerRevisionList
	if f.list(&list); len(list.Items) != want {
		f.t.Errorf("%s: got %d ControllerRevisions, want %d", when, len(list.Items), want)
	}
}

// configs returns the digest of the configuration that each pod's agent serves.
func (f *fleet) configs() []string {
	f.t.Helper()
	var configs []string
	for _, pod := range f.pods {
		configs = append(configs, f.attachment(pod).Status.Processes[0].ConfigSHA256)
	}
	return configs
}
