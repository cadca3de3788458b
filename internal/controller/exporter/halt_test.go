package exporter

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// What halts a rollout, and for how long.
func TestHaltOf(t *testing.T) {
	restarted := func(of, at string) member {
		m := memberOf("a n1 " + at)
		m.attachment.Status.Restart = &v1alpha1.Restart{Revision: of, Container: "app", Message: "Container app ended 3s after an attach.", Time: new(metav1.NewTime(now))}
		return m
	}
	resumed := func(at string) member {
		m := restarted(revision, "RestartedAfterAttach")
		m.attachment.Status.Resume = at
		return m
	}
	stale := memberOf("a n1 ConfigRejected")
	stale.attachment.Status.Revision = "old"
	before := memberOf("a n1 ConfigRejected")
	before.attachment.Spec.Revision, before.attachment.Status.Revision = "old", "old"
	says := memberOf("a n1 ConfigRejected")
	says.attachment.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: "Rule 3 is wrong."}}
	long := memberOf("a n1 ConfigRejected")
	long.attachment.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: strings.Repeat("x", 5000)}}

	tooLarge := func(endpoint *v1alpha1.Endpoint) member {
		m := memberOf("a n1 CollectionTooLarge")
		m.attachment.Status.Processes = []v1alpha1.JavaProcess{{Reason: v1alpha1.ReasonCollectionTooLarge, Endpoint: endpoint}}
		return m
	}

	cases := map[string]struct {
		limit  int32
		before *v1alpha1.Halt
		member member
		want   string
		says   string
	}{
		"the pod serves":                                                    {member: memberOf("a n1 1h")},
		"the pod has no record":                                             {member: memberOf("a n1 new")},
		"the pod is refused":                                                {member: memberOf("a n1 NoShell")},
		"the pod fails":                                                     {member: memberOf("a n1 AgentFailed")},
		"the pod rejects the configuration":                                 {member: says, want: "ConfigRejected", says: "Pod a: Rule 3 is wrong. The rollout is halted"},
		"a rule of the configuration is too expensive":                      {member: memberOf("a n1 RuleTooExpensive"), want: "RuleTooExpensive"},
		"a collection is too large in a JVM that was never served":          {member: tooLarge(nil)},
		"a collection is too large in a JVM that served":                    {member: tooLarge(&v1alpha1.Endpoint{}), want: "CollectionTooLarge"},
		"the pod rejected the previous configuration":                       {member: stale},
		"the pod rejected the configuration of another revision":            {member: before},
		"the pod restarted":                                                 {limit: 1, member: restarted(revision, "ContainerRestarting"), want: "RestartedAfterAttach", says: "Pod a: Container app ended 3s after an attach. The rollout is halted"},
		"the pod restarted, and one restart only pauses":                    {limit: 2, member: restarted(revision, "ContainerRestarting")},
		"the pod restarted twice, and one pod only pauses":                  {limit: 2, member: restarted(revision, "RestartedAfterAttach")},
		"the pod restarted, and does not run":                               {limit: 1, member: restarted(revision, "ContainerNotRunning"), want: "RestartedAfterAttach", says: "ended 3s after"},
		"the pod restarted with another revision":                           {member: restarted("old", "1h")},
		"the rollout is halted already":                                     {before: &v1alpha1.Halt{Revision: revision, Reason: "ConfigRejected", Message: "m"}, member: memberOf("a n1 1h"), want: "ConfigRejected", says: "m"},
		"the rollout of another revision was halted":                        {before: &v1alpha1.Halt{Revision: "old", Reason: "ConfigRejected", Message: "m"}, member: memberOf("a n1 1h")},
		"the rollout of another revision was halted, and the pod restarted": {limit: 1, before: &v1alpha1.Halt{Revision: "old", Reason: "ConfigRejected", Message: "m"}, member: restarted(revision, "1h"), want: "RestartedAfterAttach", says: "ended 3s after"},
		"the rollout is resumed":                                            {before: &v1alpha1.Halt{Revision: revision, Resume: "0", Reason: "ConfigRejected", Message: "m"}, member: memberOf("a n1 1h")},
		"the pod restarted before the rollout was resumed":                  {member: resumed("0")},
		"the pod restarted after the rollout was resumed":                   {limit: 1, before: &v1alpha1.Halt{Revision: revision, Resume: "0", Reason: "ConfigRejected", Message: "m"}, member: resumed("1"), want: "RestartedAfterAttach"},
		"a long message is truncated":                                       {member: long, want: "ConfigRejected", says: "Pod a: xxx"},
	}
	for name, tc := range cases {
		records := []*v1alpha1.JmxAttachment{memberOf("z n1 1h").attachment}
		if tc.member.attachment != nil {
			records = append(records, tc.member.attachment)
		}
		resume := ""
		if strings.Contains(name, "resumed") {
			resume = "1"
		}
		r := &rollout{revision: revision, resume: resume, now: now, limits: limits("1m", fmt.Sprint(cmp.Or(tc.limit, 1)))}
		e := &v1alpha1.PrometheusJmxExporter{}
		e.Status.Halt = tc.before
		r.stopAt(e, records, []corev1.Pod{{}}) // the one of all records, which have no UID
		halt := r.halt
		if halt == nil {
			halt = &v1alpha1.Halt{Revision: revision}
		}
		if halt.Reason != tc.want || halt.Revision != revision || !strings.Contains(halt.Message, tc.says) || len(halt.Message) > 2048 {
			t.Errorf("%s: unexpected halt of revision %s: %s: %q", name, halt.Revision, halt.Reason, halt.Message)
		}
	}
}
