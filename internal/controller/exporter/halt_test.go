package exporter

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// What stops a rollout, and how long.
func TestHaltOf(t *testing.T) {
	restarted := func(of, at string) member {
		m := told("a n1 " + at)
		m.attachment.Status.Restart = &v1alpha1.Restart{Revision: of, Container: "app", Message: "Container app ended 3s after an attach."}
		return m
	}
	resumed := func(at string) member {
		m := restarted(revision, "RestartedAfterAttach")
		m.attachment.Status.Resume = at
		return m
	}
	stale := told("a n1 ConfigRejected")
	stale.attachment.Status.Revision = "old"
	before := told("a n1 ConfigRejected")
	before.attachment.Spec.Revision, before.attachment.Status.Revision = "old", "old"
	says := told("a n1 ConfigRejected")
	says.attachment.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: "Rule 3 is wrong."}}
	long := told("a n1 ConfigRejected")
	long.attachment.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: strings.Repeat("x", 5000)}}

	cases := map[string]struct {
		before *v1alpha1.Halt
		member member
		want   string
		says   string
	}{
		"a pod that serves":                 {member: told("a n1 1h")},
		"a pod without a record":            {member: told("a n1 new")},
		"a refused pod":                     {member: told("a n1 NoShell")},
		"a pod that fails":                  {member: told("a n1 AgentFailed")},
		"its configuration is rejected":     {member: says, want: "ConfigRejected", says: "Pod a: Rule 3 is wrong. The rollout is halted"},
		"a rule is too expensive":           {member: told("a n1 RuleTooExpensive"), want: "RuleTooExpensive"},
		"of what a turn ago was wanted":     {member: stale},
		"of another revision":               {member: before},
		"it restarted":                      {member: restarted(revision, "RestartedAfterAttach"), want: "RestartedAfterAttach", says: "Pod a: Container app ended 3s after an attach. The rollout is halted"},
		"it restarted, and does not run":    {member: restarted(revision, "ContainerNotRunning"), want: "RestartedAfterAttach", says: "ended 3s after"},
		"it restarted with another":         {member: restarted("old", "1h")},
		"it stands":                         {before: &v1alpha1.Halt{Revision: revision, Reason: "ConfigRejected", Message: "m"}, member: told("a n1 1h"), want: "ConfigRejected", says: "m"},
		"until there is another revision":   {before: &v1alpha1.Halt{Revision: "old", Reason: "ConfigRejected", Message: "m"}, member: told("a n1 1h")},
		"and what is new then stops again":  {before: &v1alpha1.Halt{Revision: "old", Reason: "ConfigRejected", Message: "m"}, member: restarted(revision, "1h"), want: "RestartedAfterAttach", says: "ended 3s after"},
		"until it is resumed":               {before: &v1alpha1.Halt{Revision: revision, Resume: "0", Reason: "ConfigRejected", Message: "m"}, member: told("a n1 1h")},
		"of what was before it was resumed": {member: resumed("0")},
		"and what fails then stops again":   {before: &v1alpha1.Halt{Revision: revision, Resume: "0", Reason: "ConfigRejected", Message: "m"}, member: resumed("1"), want: "RestartedAfterAttach"},
		"a long message is cut":             {member: long, want: "ConfigRejected", says: "Pod a: xxx"},
	}
	for name, tc := range cases {
		records := []*v1alpha1.JmxAttachment{told("z n1 1h").attachment}
		if tc.member.attachment != nil {
			records = append(records, tc.member.attachment)
		}
		resume := ""
		if strings.Contains(name, "resumed") || strings.Contains(name, "fails then") {
			resume = "1"
		}
		halt := (&rollout{revision: revision, resume: resume, now: now}).haltOf(tc.before, records)
		if halt == nil {
			halt = &v1alpha1.Halt{Revision: revision}
		}
		if halt.Reason != tc.want || halt.Revision != revision || !strings.Contains(halt.Message, tc.says) || len(halt.Message) > 2048 {
			t.Errorf("%s: %s %s: %q", name, halt.Revision, halt.Reason, halt.Message)
		}
	}
}
