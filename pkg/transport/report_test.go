package transport

import (
	"errors"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Whatever a container makes of the helper's answer: its reasons are known ones,
// and its sentences fit into a record.
func TestReportIsTyped(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r, err := report(`{"error": {"reason": "x-8f3a", "message": "`+long+`"},
		"processes": [{"refusal": {"reason": "x-8f3b", "message": "a\nb"}}, {"refusal": {"reason": "JVMStarting", "message": "It starts"}}, {}]}`, nil)
	known, ok := errors.AsType[*Error](err)
	if !ok || known.Reason != v1alpha1.ReasonHelperFailed || len(known.Message) > maxSentence+10 {
		t.Errorf("the error is %.200v", err)
	}
	var got []string
	for _, p := range r.Processes {
		if p.Refusal != nil {
			got = append(got, string(p.Refusal.Reason)+": "+p.Refusal.Message)
		}
	}
	if want := "HelperFailed: a., JVMStarting: It starts."; strings.Join(got, ", ") != want {
		t.Errorf("the refusals are %q, want %q", got, want)
	}
}
