package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// rulesOf returns an exporter with rules for the process, given as they are in JSON.
func (c *cluster) rulesOf(rules ...map[string]string) *unstructured.Unstructured {
	e := c.anExporter("")
	e.GenerateName = "exporter-"
	var processes []any
	for _, r := range rules {
		rule := map[string]any{"action": "Exclude"}
		for field, pattern := range r {
			rule[field] = pattern
		}
		processes = append(processes, rule)
	}
	data, err := json.Marshal(e)
	if err != nil {
		c.t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		c.t.Fatal(err)
	}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PrometheusJmxExporter"))
	if err := unstructured.SetNestedSlice(u.Object, processes, "spec", "processes"); err != nil {
		c.t.Fatal(err)
	}
	return u
}

// repeated returns n rules with the same patterns.
func repeated(n int, rule map[string]string) []map[string]string {
	var all []map[string]string
	for range n {
		all = append(all, rule)
	}
	return all
}

// readsArguments are changes of a spec with which the writer reads arguments.
var readsArguments = map[string]string{
	"a rule for whole arguments is added": `{"spec":{"processes":[{"action":"Exclude","mainClass":"A"},{"action":"Exclude","wholeArgument":"-Dpassword=a.*"}]}}`,
	"nothing else is changed":             `{"spec":{"processes":[{"action":"Include","wholeArgument":"-Dpassword=a.*","argument":"-Da"}]}}`,
}

// A user who may attach, and not exec, cannot read the arguments of processes by rules: the
// admission policy denies them, and without the policy the operator inspects nothing.
func TestArgumentsOfOthers(t *testing.T) {
	t.Parallel()
	names := patch(`{"spec":{"processes":[{"action":"Exclude","argument":"-Dpassword"}]}}`)
	for name, change := range readsArguments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try := func(kustomizations ...string) (*tenancy, client.Client, error) {
				n := newTenancy(t, kustomizations...)
				n.bind("bob", mayWrite, mayConfigure, mayAttach)
				bob := as(t, n.user("bob"))
				n.must(admin.Patch(t.Context(), n.exporter, patch(`{"metadata":{"annotations":null}}`))) // it names alice
				eventually(t, func() bool { return bob.Patch(t.Context(), n.exporter, names) == nil })
				return n, bob, bob.Patch(t.Context(), n.exporter, patch(change))
			}
			if _, _, err := try(); err != nil {
				t.Errorf("the attack fails even without the policies, so this case proves nothing: %v", err)
			}
			n, bob, err := try(onCreator...)
			if !denied(err, "jmx-exporter-operator-creator") || !strings.Contains(err.Error(), "wholeArgument") || !strings.Contains(err.Error(), "To allow it, ") {
				t.Errorf("got %v, want a denial by the policy", err)
			}
			n.must(n.alice.Patch(t.Context(), n.exporter, patch(change)))
			if err := bob.Patch(t.Context(), n.exporter, patch(`{"spec":{"labelSelector":{"app":"bobs"}}}`)); !denied(err, "jmx-exporter-operator-creator") {
				t.Errorf("another change of such a spec: got %v, want a denial by the policy", err)
			}
		})
	}
}

// Before an inspection by rules for whole arguments, the operator reviews whether the
// requester may still exec: a withdrawn right stops new pods.
func TestArgumentsReviewed(t *testing.T) {
	t.Parallel()
	f, alice := stampedFleet(t)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, WholeArgument: "-Dpassword=a.*"}}
	})
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	f.expect("the requester may exec", isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()

	f.withdraw(alice)
	f.bind("alice", mayAttach)
	f.reviewed(true)
	f.containers.Called()
	f.pods = append(f.pods, f.run(aPod("app-1")))
	f.expect("the right is withdrawn", isAnnotated, "Discovered NotAuthorized")
	f.expectNotCalled("the right is withdrawn")
	says := meta.FindStatusCondition(f.attachment(f.pods[1]).Status.Conditions, "JavaFound").Message
	for _, word := range []string{"may not create pods/exec", "wholeArgument", "use spec.processes[].argument instead"} {
		if !strings.Contains(says, word) {
			t.Errorf("message of app-1: got %q, want it to contain %q", says, word)
		}
	}
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, Argument: "-Dpassword"}}
	})
	f.o.settle()
	f.later(2 * time.Minute)
	f.expect("the rule is for names only", isAnnotated, isAnnotated)
}

// What the API server rejects of the rules, and with which message.
func TestProcessRules(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, tc := range map[string]struct {
		rules []map[string]string
		want  string // substring of the error; valid if empty
	}{
		"usual patterns":        {rules: []map[string]string{{"mainClass": "com\\.example\\.(Main|Worker)", "argument": "-Drole"}}},
		"a small repetition":    {rules: []map[string]string{{"mainClass": "[a-z]{3}[0-9]{1,99}"}}},
		"not RE2":               {rules: []map[string]string{{"mainClass": "(?=a)"}}, want: "must be a regular expression in RE2 syntax"},
		"a whole argument":      {rules: []map[string]string{{"wholeArgument": "-Drole=.*"}}},
		"a name with a value":   {rules: []map[string]string{{"argument": "-Drole=worker"}}, want: "to match an option with its value, use wholeArgument"},
		"257 characters":        {rules: []map[string]string{{"argument": strings.Repeat("a", 257)}}, want: "Too long"},
		"a hundred repetitions": {rules: []map[string]string{{"mainClass": "(.?){100}"}}, want: "must not repeat anything more than 99 times"},
		"as many at least":      {rules: []map[string]string{{"mainClass": "a{0100,}"}}, want: "must not repeat anything more than 99 times"},
		"as many at most":       {rules: []map[string]string{{"mainClass": "a{1,100}"}}, want: "must not repeat anything more than 99 times"},
		"eight rules":           {rules: repeated(8, map[string]string{"mainClass": "a", "argument": "-b"})},
		"nine rules":            {rules: repeated(9, map[string]string{"mainClass": "a"}), want: "must have at most 8 items"},
		"a class of characters": {rules: []map[string]string{{"mainClass": "\\p{Greek}+"}}},
		"the largest of all":    {rules: repeated(8, map[string]string{"mainClass": strings.Repeat("\\pL", 85), "argument": strings.Repeat("\\PL", 85)})},
	} {
		t.Run(name, func(t *testing.T) {
			err := admin.Create(t.Context(), c.rulesOf(tc.rules...), client.DryRunAll)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("the API server rejects it: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

// The API server rejects patterns that are large when they are compiled, without compiling
// them: it would do so for everybody who may send a request, authorized to attach or not.
func TestPatternsThatCostMuch(t *testing.T) {
	c := newCluster(t)
	large := strings.Repeat("(.?){999}", 28)
	for name, rules := range map[string][]map[string]string{
		"counted repetitions":          repeated(32, map[string]string{"mainClass": large, "argument": large}),
		"counted repetitions of 99":    repeated(8, map[string]string{"mainClass": strings.Repeat("(.?){99}", 32), "argument": strings.Repeat("(.?){99}", 32)}),
		"classes of characters":        repeated(8, map[string]string{"mainClass": "(?i)" + strings.Repeat("\\pL", 84), "argument": "(?i)" + strings.Repeat("\\PL", 84)}),
		"nested groups and repetition": repeated(8, map[string]string{"mainClass": strings.Repeat("(", 100) + "a" + strings.Repeat(")*", 77)}),
	} {
		before := apiServerCPU(t)
		err := admin.Create(t.Context(), c.rulesOf(rules...), client.DryRunAll)
		if used := apiServerCPU(t) - before; used > 500*time.Millisecond {
			t.Errorf("%s: the API server used %s of CPU time to answer (%.100v), want less than half a second", name, used, err)
		}
	}
}

// Rules that the API server stored before it rejected them: nothing is executed in a pod, and
// the exporter and its pods say which field is wrong. Correcting it is enough.
func TestStoredProcessRules(t *testing.T) {
	for name, tc := range map[string]struct {
		rule v1alpha1.ProcessRule
		says []string
	}{
		"a pattern that costs much": {v1alpha1.ProcessRule{MainClass: v1alpha1.Pattern(strings.Repeat("(.?){999}", 28))}, []string{"spec.processes[1].mainClass", "4096 instructions", "use * or +"}},
		"a name with a value":       {v1alpha1.ProcessRule{Argument: "-Drole=worker"}, []string{"spec.processes[1].argument", "use wholeArgument"}},
		"a pattern that is none":    {v1alpha1.ProcessRule{Argument: "(?!a{2})"}, []string{"spec.processes[1].argument", "(?!"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			e := c.anExporter("exporter")
			tc.rule.Action = v1alpha1.RuleExclude
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleInclude, MainClass: "com.example.Main"}, tc.rule}
			restore := changeCRD(t, exporterKind, func(root *crdSchema) {
				in(root, "spec.processes.[]", func(rule *crdSchema) {
					for name, field := range rule.Properties {
						field.XValidations = nil
						rule.Properties[name] = field
					}
				})
			})
			eventually(t, func() bool { return admin.Create(t.Context(), e) == nil })
			restore()
			eventually(t, func() bool {
				return admin.Create(t.Context(), c.rulesOf(map[string]string{"mainClass": "("}), client.DryRunAll) != nil
			})

			o := c.operate()
			pod := c.run(aPod("app-0"))
			c.configure(rules)
			if again := o.settle(); again != 0 && again != 10*time.Minute {
				t.Errorf("the pod is reconciled again after %s, although an event triggers that", again)
			}
			if called := c.containers.Called(); len(called) > 0 {
				t.Errorf("execs: got %q, want none", called)
			}
			if got := phaseOf(c.attachment(pod)); got != "Discovered ProcessRulesInvalid" {
				t.Errorf("phase of the pod: got %q", got)
			}
			get(t, e)
			for kind, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionConfigValid: metav1.ConditionFalse,
				v1alpha1.ConditionReady:       metav1.ConditionFalse,
				v1alpha1.ConditionStalled:     metav1.ConditionTrue,
			} {
				condition := meta.FindStatusCondition(e.Status.Conditions, kind)
				if condition == nil || condition.Status != want || condition.Reason != v1alpha1.ReasonProcessRulesInvalid {
					t.Errorf("condition %s of the exporter: got %+v, want %s %s", kind, condition, want, v1alpha1.ReasonProcessRulesInvalid)
					continue
				}
				for _, word := range tc.says {
					if !strings.Contains(condition.Message, word) {
						t.Errorf("message of %s: got %q, want it to contain %q", kind, condition.Message, word)
					}
				}
			}

			change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Processes = e.Spec.Processes[:1] })
			o.settle()
			(&story{c, pod, e}).isAnnotated("9400")
		})
	}
}

// apiServerCPU returns the CPU time of the API server of these tests so far.
func apiServerCPU(t *testing.T) time.Duration {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, _ := os.ReadFile(name) // the process may have exited
		_, rest, found := strings.Cut(string(stat), "(kube-apiserver) ")
		fields := strings.Fields(rest) // from the third one of proc_pid_stat(5)
		if !found || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		var ticks int
		for _, field := range fields[11:13] { // utime and stime
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
		return time.Duration(ticks) * 10 * time.Millisecond
	}
	t.Fatal("no API server is a child of this process")
	return 0
}
