package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func skips(count int64, domain, reason string) helperapi.Notices {
	return helperapi.Notices{Skipped: &helperapi.Skipped{Count: count, Domain: domain, Reason: reason}}
}

// notices returns the conditions of a record that say what its scrapes lack or cost.
func (s *story) notices() string {
	s.t.Helper()
	var said []string
	for _, c := range s.attachment(s.pod).Status.Conditions {
		if strings.HasPrefix(c.Type, "Scrape") {
			said = append(said, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
		}
	}
	return strings.Join(said, ", ")
}

// What the agent reports at its health page is in a condition, without an exec; written
// when it changes, at most once in ten minutes. The endpoint and the annotations stay.
func TestScrapeIncomplete(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	endpoints := s.endpoints(s.exporter)
	expect := func(when, want string, writes int, notices *helperapi.Notices) {
		t.Helper()
		s.containers.Notices = notices
		var written int
		for range 4 {
			s.later(interval / 2)
			did, again := s.check(o)
			for _, effect := range did {
				if effect == "apply jmx-exporter-operator/attachment-status" {
					written++
				} else if effect != "http health" {
					t.Errorf("%s: unexpected effect %q", when, effect)
				}
			}
			if again != 0 {
				t.Errorf("%s: the next reconciliation is in %s, want none", when, again)
			}
		}
		if written != writes {
			t.Errorf("%s: the record was written %d times, want %d", when, written, writes)
		}
		if got := s.notices(); got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
		s.isAnnotated("9400")
		if got := s.endpoints(s.exporter); got != endpoints {
			t.Errorf("%s: endpoints: got %q, want %q", when, got, endpoints)
		}
	}
	const incomplete = "ScrapeIncomplete True InvalidValue"
	expect("the agent is old", "", 0, nil)
	expect("nothing is skipped", "", 0, &helperapi.Notices{})
	expect("something is skipped", incomplete, 1, new(skips(1, "kafka.server", "InvalidValue")))
	if got, want := s.message(v1alpha1.ConditionScrapeIncomplete), `True InvalidValue: The scrape is incomplete, most of all in domain "kafka.server": counters are negative. Set type: GAUGE in their rule.`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	expect("more is skipped", incomplete, 0, new(skips(7, "kafka.server", "InvalidValue")))
	expect("nothing is skipped for a moment", incomplete, 0, &helperapi.Notices{})
	s.later(10 * time.Minute)
	expect("something is still skipped", incomplete, 0, new(skips(1, "kafka.server", "InvalidValue")))
	if events := o.events.with("InvalidValue"); len(events) != 1 || events[0].Type != "Warning" {
		t.Errorf("Events: %v", events)
	}
	o.settle()
	get(t, s.exporter)
	if c := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionScrapeIncomplete); c == nil ||
		c.Message != "The scrapes of 1 of 1 pods are incomplete: app-0: InvalidValue. Their JmxAttachments say what to do." {
		t.Errorf("condition of the exporter: %+v", c)
	}
	if ready := meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady); !ready {
		t.Error("the exporter is not Ready")
	}
	if events := o.events.with(v1alpha1.ReasonPodsIncomplete); len(events) != 1 || events[0].Type != "Warning" {
		t.Errorf("Events of the exporter: %v", events)
	}
	o.did()
	s.later(10 * time.Minute)
	expect("nothing is skipped anymore", "", 1, &helperapi.Notices{})
	o.settle()
	get(t, s.exporter)
	if c := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionScrapeIncomplete); c != nil {
		t.Errorf("condition of the exporter: %+v", c)
	}
}

// A configuration with which the canary's scrape is incomplete, or expensive, is rolled out
// all the same, and shown.
func TestScrapeIncompleteAfterAChange(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	s := &story{f.cluster, f.pods[0], f.exporter}
	f.jvm(f.pods[0]).Notices = helperapi.Notices{
		Skipped:   skips(1, "app", "ReservedName").Skipped,
		Expensive: &helperapi.Expensive{Reason: "CPU", Rule: 2, Include: []string{"app:*"}},
	}
	f.configure("lowercaseOutputName: true\n" + rules)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the configuration changes", isAnnotated, isAnnotated, isAnnotated)
	f.expectAsked("the configuration changes", "2 2 2")
	f.expectSums("the configuration changes", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")
	if got, want := s.notices(), "ScrapeIncomplete True ReservedName, ScrapeExpensive True CPU"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.message(v1alpha1.ConditionScrapeExpensive), `True CPU: A collection takes much CPU time. Rule 2 of the configuration costs most. To read only MBeans that yield series, set in the configuration: includeObjectNames: ["app:*"]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var summed []string
	for _, c := range f.exporter.Status.Conditions {
		if strings.HasPrefix(c.Type, "Scrape") {
			summed = append(summed, c.Message)
		}
	}
	slices.Sort(summed)
	if diff := cmp.Diff([]string{
		"The scrapes of 1 of 3 pods are expensive: app-0: CPU. Their JmxAttachments say what to do.",
		"The scrapes of 1 of 3 pods are incomplete: app-0: ReservedName. Their JmxAttachments say what to do.",
	}, summed); diff != "" {
		t.Errorf("conditions of the exporter (-want +got):\n%s", diff)
	}
	for _, reason := range []string{"ReservedName", "CPU", v1alpha1.ReasonPodsIncomplete, v1alpha1.ReasonPodsExpensive} {
		if events := f.o.events.with(reason); len(events) != 1 || events[0].Type != "Warning" {
			t.Errorf("Events: %v", events)
		}
	}
	f.jvm(f.pods[0]).Notices = helperapi.Notices{}
	f.configure(rules)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the configuration is corrected", isAnnotated, isAnnotated, isAnnotated)
	if got := s.notices(); got != "" {
		t.Errorf("the configuration is corrected: got %q", got)
	}
}
