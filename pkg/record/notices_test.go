package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func skips(domain, reason string) helperapi.Notices {
	return helperapi.Notices{Skipped: &helperapi.Skipped{Count: 3, Domain: domain, Reason: reason}}
}

func costs(reason string, rule int32, include ...string) helperapi.Notices {
	return helperapi.Notices{Expensive: &helperapi.Expensive{Reason: reason, Rule: rule, Include: include}}
}

// What an agent says is recorded bounded, without counts, and only when it differs.
func TestNotice(t *testing.T) {
	incomplete := func(reason, domain string) *v1alpha1.ScrapeNotices {
		return &v1alpha1.ScrapeNotices{Incomplete: &v1alpha1.IncompleteScrape{Reason: reason, Domain: domain}}
	}
	expensive := func(reason string, rule int32, include ...string) *v1alpha1.ScrapeNotices {
		return &v1alpha1.ScrapeNotices{Expensive: &v1alpha1.ExpensiveScrape{Reason: reason, Rule: rule, IncludeObjectNames: include}}
	}
	for name, tc := range map[string]struct {
		before  *v1alpha1.ScrapeNotices
		said    helperapi.Notices
		want    *v1alpha1.ScrapeNotices
		secured bool
		same    bool
	}{
		"nothing":                           {same: true},
		"incomplete":                        {said: skips("kafka.server", "InvalidValue"), want: incomplete("InvalidValue", "kafka.server")},
		"incomplete as before":              {before: incomplete("InvalidValue", "a"), said: skips("a", "InvalidValue"), want: incomplete("InvalidValue", "a"), same: true},
		"complete again":                    {before: incomplete("InvalidValue", "a")},
		"a reason of a newer agent":         {said: skips("a", "Tired"), want: incomplete("MBeansSkipped", "a")},
		"a reason without a name":           {said: skips("", ""), want: incomplete("MBeansSkipped", "")},
		"a long domain":                     {said: skips(strings.Repeat("x", 1024), "InvalidValue"), want: incomplete("InvalidValue", strings.Repeat("x", 253)+"…")},
		"expensive":                         {said: costs("CPU", 7, "a:*", "b:type=B,*"), want: expensive("CPU", 7, "a:*", "b:type=B,*")},
		"expensive for a reason of a newer": {said: costs("Wattage", 0), want: expensive("HighCost", 0)},
		"a pattern that is none":            {said: costs("CPU", 1, "a:*", "b"), want: expensive("CPU", 1)},
		// A process in the container may answer instead of the helper: nothing is bounded.
		"a domain with unsafe characters": {said: skips("a\n\x1b[31m\u202eb\xff", "InvalidValue"), want: incomplete("InvalidValue", "a??[31m?b?")},
		"a rule below zero":               {said: costs("CPU", -1), want: expensive("CPU", 0)},
		"too many patterns":               {said: costs("CPU", 1, slices.Repeat([]string{"a:*"}, 11)...), want: expensive("CPU", 1)},
		"too long patterns":               {said: costs("CPU", 1, "a:b="+strings.Repeat("x", 600), "a:c="+strings.Repeat("x", 600)), want: expensive("CPU", 1)},
		"patterns with unsafe characters": {said: costs("CPU", 1, "a:b=\u202ex"), want: expensive("CPU", 1)},
		"a pattern that is empty":         {said: costs("CPU", 1, ""), want: expensive("CPU", 1)},
		"an endpoint that names nothing": {
			before: incomplete("InvalidValue", "a"), said: skips("", "InvalidValue"), want: incomplete("InvalidValue", "a"), secured: true, same: true,
		},
		"an endpoint that names nothing, for another reason": {
			before: incomplete("InvalidValue", "a"), said: skips("", "ReservedName"), want: incomplete("ReservedName", ""), secured: true,
		},
		"an expensive endpoint that names nothing": {
			before: expensive("CPU", 7, "a:*"), said: costs("CPU", 7), want: expensive("CPU", 7, "a:*"), secured: true, same: true,
		},
		"patterns are no longer known": {before: expensive("CPU", 7, "a:*"), said: costs("CPU", 7), want: expensive("CPU", 7)},
	} {
		t.Run(name, func(t *testing.T) {
			p := v1alpha1.JavaProcess{Notices: tc.before}
			if tc.secured {
				p.SecuritySHA256 = "sha"
			}
			if changed := Notice(&p, tc.said); changed == tc.same {
				t.Errorf("changed: %t", changed)
			}
			if diff := cmp.Diff(tc.want, p.Notices); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if Notice(&p, tc.said) {
				t.Error("changed again")
			}
		})
	}
}

func TestNoticeConditions(t *testing.T) {
	process := func(container string, said ...helperapi.Notices) v1alpha1.JavaProcess {
		p := v1alpha1.JavaProcess{Container: container, PID: 7}
		for _, n := range said {
			Notice(&p, n)
		}
		return p
	}
	both := helperapi.Notices{Skipped: skips("java.lang", "MetricUnreadable").Skipped, Expensive: costs("Duration", 0).Expensive}
	excluded := process("app", both)
	excluded.Excluded = true
	for name, tc := range map[string]struct {
		processes []v1alpha1.JavaProcess
		want      []string
	}{
		"nothing to notice":    {[]v1alpha1.JavaProcess{process("app")}, nil},
		"an excluded process":  {[]v1alpha1.JavaProcess{excluded}, nil},
		"a domain":             {[]v1alpha1.JavaProcess{process("app", skips("kafka.server", "InvalidValue"))}, []string{`ScrapeIncomplete InvalidValue: The scrape is incomplete, most of all in domain "kafka.server": counters are negative. Set type: GAUGE in their rule.`}},
		"a deceptive domain":   {[]v1alpha1.JavaProcess{process("app", skips(`a": all is well. "`, "InvalidValue"))}, []string{`ScrapeIncomplete InvalidValue: The scrape is incomplete, most of all in domain "a\": all is well. \"": counters are negative. Set type: GAUGE in their rule.`}},
		"a reason unknown":     {[]v1alpha1.JavaProcess{process("app", skips("", "Tired"))}, []string{"ScrapeIncomplete MBeansSkipped: The scrape is incomplete: MBeans, attributes or samples are left out. The metric jmx_exporter_skipped says why."}},
		"both":                 {[]v1alpha1.JavaProcess{process("app", both)}, []string{`ScrapeIncomplete MetricUnreadable: The scrape is incomplete, most of all in domain "java.lang": metrics of the JVM cannot be read. Report that as a bug of the operator.`, "ScrapeExpensive Duration: A collection takes long."}},
		"what to paste":        {[]v1alpha1.JavaProcess{process("app", costs("CPU", 7, "a:*", `b:name="<x>",*`))}, []string{`ScrapeExpensive CPU: A collection takes much CPU time. Rule 7 of the configuration costs most. To read only MBeans that yield series, set in the configuration: includeObjectNames: ["a:*","b:name=\"<x>\",*"]`}},
		"the second of two":    {[]v1alpha1.JavaProcess{process("app"), process("worker", costs("Allocation", 1))}, []string{"ScrapeExpensive Allocation: Container worker, process 7: A collection allocates much of the heap. Rule 1 of the configuration costs most."}},
		"two for two reasons":  {[]v1alpha1.JavaProcess{process("app", costs("CPU", 0)), process("worker", costs("Duration", 0))}, []string{"ScrapeExpensive CPU: Container app, process 7: A collection takes much CPU time. Container worker, process 7: A collection takes long."}},
		"a reason from before": {[]v1alpha1.JavaProcess{{Notices: &v1alpha1.ScrapeNotices{Incomplete: &v1alpha1.IncompleteScrape{Reason: "Old"}, Expensive: &v1alpha1.ExpensiveScrape{Reason: "Old"}}}}, []string{"ScrapeIncomplete Old: The scrape is incomplete: MBeans, attributes or samples are left out. The metric jmx_exporter_skipped says why.", "ScrapeExpensive Old: A collection is expensive."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Record{&v1alpha1.JmxAttachment{Status: v1alpha1.JmxAttachmentStatus{Processes: tc.processes}}}
			var got []string
			for _, c := range r.Notices() {
				if c.Status != metav1.ConditionTrue {
					t.Errorf("%s is %s", c.Type, c.Status)
				}
				got = append(got, fmt.Sprintf("%s %s: %s", c.Type, c.Reason, c.Message))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A message about many processes is bounded.
func TestNoticeMessageIsBounded(t *testing.T) {
	r := Record{&v1alpha1.JmxAttachment{}}
	for i := range 64 {
		p := v1alpha1.JavaProcess{Container: "app", PID: int32(i + 1)}
		Notice(&p, skips(strings.Repeat("x", 256), "InvalidValue"))
		r.Status().Processes = append(r.Status().Processes, p)
	}
	if got := len(r.Notices()[0].Message); got > maxNotices {
		t.Errorf("%d bytes", got)
	}
}

// Each reason of the conditions has a sentence.
func TestNoticeSentences(t *testing.T) {
	if got := len(incompleteSentences) + len(expensiveSentences); got != 13 {
		t.Errorf("%d sentences: one for each reason of apis/v1alpha1/scrapereasons.go", got)
	}
}
