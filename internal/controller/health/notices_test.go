package health

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// Notices are news if they differ from those recorded, at most once in ten minutes; what
// was not taken, or not recorded, is news again.
func TestNoticesAreNews(t *testing.T) {
	skipped := func(reason string) *helperapi.Notices {
		return &helperapi.Notices{Skipped: &helperapi.Skipped{Count: 1, Reason: reason}}
	}
	p := exposed("app")
	p.ConfigSHA256 = "sha"
	prober, clock := &prober{}, clocktesting.NewFakePassiveClock(start)
	checker := New(prober, time.Minute, clock)
	checker.Track(pod, address, []v1alpha1.JavaProcess{p})
	for i, step := range []struct {
		after   time.Duration
		notices *helperapi.Notices
		taken   bool // the reconciler takes the check and records the notices
		lost    bool // it takes the check, and its write fails
		want    string
	}{
		{2 * time.Minute, nil, true, false, ""}, // an older agent
		{2 * time.Minute, &helperapi.Notices{}, true, false, ""},
		{2 * time.Minute, skipped("InvalidValue"), false, false, "InvalidValue"},
		{2 * time.Minute, skipped("InvalidValue"), false, true, "InvalidValue"},
		{2 * time.Minute, skipped("InvalidValue"), true, false, "InvalidValue"},
		{2 * time.Minute, skipped("InvalidValue"), true, false, ""},
		{2 * time.Minute, &helperapi.Notices{}, true, false, ""}, // soon after the last change
		{8 * time.Minute, skipped("InvalidValue"), true, false, ""},
		{8 * time.Minute, skipped("ReservedName"), true, false, "ReservedName"},
		{8 * time.Minute, skipped("InvalidValue"), true, false, ""},
		{2 * time.Minute, &helperapi.Notices{}, true, false, "none"},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		prober.notices = step.notices
		news := len(checker.CheckDue(t.Context())) > 0
		if news != (step.want != "") {
			t.Errorf("check %d: news: %t", i, news)
		}
		if step.lost {
			checker.Take(pod)
		}
		if !step.taken {
			continue
		}
		got := ""
		for _, check := range checker.Take(pod) {
			if check.ConfigSHA256 != "sha" {
				t.Errorf("check %d: notices about the configuration %q", i, check.ConfigSHA256)
			}
			if got = "none"; check.Notices.Skipped != nil {
				got = check.Notices.Skipped.Reason
			}
			record.Notice(&p, *check.Notices)
			checker.Track(pod, address, []v1alpha1.JavaProcess{p})
		}
		if got != step.want {
			t.Errorf("check %d: got %q, want %q", i, got, step.want)
		}
	}
}
