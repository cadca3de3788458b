package advice

import (
	"os"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

var subject = Subject{Namespace: "shop", Exporter: "payroll", Pod: "payroll-0"}

// Each reason's section of the documentation is the one that is linked, and each reason has
// a next step.
func TestReasonsAreAdvised(t *testing.T) {
	page, err := os.ReadFile("../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^### (\w+)$`).FindAllSubmatch(page, -1)
	if len(reasons) == 0 {
		t.Fatal("docs/troubleshooting.md has no section of a reason")
	}
	for _, m := range reasons {
		reason := string(m[1])
		if got, want := Link(reason), Troubleshooting+"#"+strings.ToLower(reason); got != want {
			t.Errorf("link of %s: got %s, want %s", reason, got, want)
		}
		if subject.Next(reason) == "" {
			t.Errorf("%s has no next step", reason)
		}
		if next := (Subject{Namespace: "shop", Exporter: "payroll"}).Next(reason); strings.HasSuffix(next, " ") {
			t.Errorf("the next step of %s is a command without a pod: %q", reason, next)
		}
	}
	if !strings.Contains(string(page), "\n## Pods that do not run\n") {
		t.Error("docs/troubleshooting.md has no section about pods that do not run")
	}
	if Link("") != "" || subject.Next("") != "" {
		t.Error("what has no reason is advised")
	}
}

func TestNext(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonRolloutPending:      "nothing: the operator continues",
		v1alpha1.ReasonContainerRestarting: "nothing: the operator continues when the pod changes",
		v1alpha1.ReasonSuspended:           "kubectl jmx resume -n shop payroll",
		v1alpha1.ReasonAttachDisabled:      "do what the message says; then kubectl jmx retry -n shop payroll-0",
		v1alpha1.ReasonConfigMapMissing:    "do what the message says; the operator continues with that change",
		v1alpha1.ReasonCPU:                 "see what each rule costs: kubectl jmx top -n shop payroll-0",
		"OfANewerOperator":                 "do what the message says",
	} {
		if got := subject.Next(reason); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}

func TestOfExporter(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "It is so."}
	}
	for name, test := range map[string]struct {
		status v1alpha1.PrometheusJmxExporterStatus
		reason string
		next   string
	}{
		"not processed": {v1alpha1.PrometheusJmxExporterStatus{ObservedGeneration: -1}, NotProcessed, CheckOperator},
		"ready":         {v1alpha1.PrometheusJmxExporterStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllAnnotated)}}, "", ""},
		"halted": {
			v1alpha1.PrometheusJmxExporterStatus{Halt: &v1alpha1.Halt{Reason: v1alpha1.ReasonConfigRejected}}, v1alpha1.ReasonConfigRejected,
			"find the cause; then kubectl jmx resume -n shop payroll",
		},
		"an invalid configuration comes before what follows from it": {
			v1alpha1.PrometheusJmxExporterStatus{Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonProgressing), condition(v1alpha1.ConditionConfigValid, metav1.ConditionFalse, v1alpha1.ReasonConfigInvalid),
			}}, v1alpha1.ReasonConfigInvalid, "do what the message says; the operator continues with that change",
		},
		"no pods": {
			v1alpha1.PrometheusJmxExporterStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNoPodsMatched)}},
			v1alpha1.ReasonNoPodsMatched, "compare the selector with: kubectl get pods -n shop --show-labels",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payroll"}, Status: test.status}
			if got := OfExporter(e); got.Reason != test.reason || got.Next != test.next {
				t.Errorf("got %+v, want reason %q and next %q", got, test.reason, test.next)
			}
		})
	}
}
