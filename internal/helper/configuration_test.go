//go:build linux

package helper

import (
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A rejected configuration does not affect the application, and can be corrected.
func TestBadConfiguration(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	for range 2 {
		bad := stageAgent(t, nil, "hostPort: db:1\n"+anyMBean, port)
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: bad})
		wantReason(t, report, helperapi.ReasonConfigRejected)
		wantMark(t, report, helperapi.AgentFailed, 1)
	}
	good := stageAgent(t, nil, anyMBean, port)
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: good})
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)

	bad := stageAgent(t, nil, "rules: {{{", port)
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: bad})
	wantReason(t, report, helperapi.ReasonConfigRejected)
	if got := wantMark(t, report, helperapi.AgentRunning, 1).ConfigSHA256; got != good.ConfigSHA256 || scrape(port) == "" {
		t.Errorf("serves %s, want what it served before, %s", got, good.ConfigSHA256)
	}
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: good}) // back to the configuration that is still in use
	wantReason(t, report, "")
	app.Unharmed()
}

// A configuration that collects more than the heap allows is reported, and not served; once
// there is heap, it is.
func TestTooLargeConfiguration(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xmx128m", "-XX:+UseG1GC", fmt.Sprintf("-Djvmtest.leave=%d", 10*mib)}})
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	before := stageAgent(t, nil, otherConfig, port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: before}), "")

	app.Tell("fill")
	large := stageAgent(t, nil, anyMBean, port)
	for range 2 {
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: large})
		wantReason(t, report, helperapi.ReasonCollectionTooLarge)
		if got := wantMark(t, report, helperapi.AgentRunning, 1).ConfigSHA256; got != before.ConfigSHA256 {
			t.Errorf("serves %s, want what it served before, %s", got, before.ConfigSHA256)
		}
	}
	app.Tell("empty")
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: large})
	wantReason(t, report, "")
	if got := wantMark(t, report, helperapi.AgentRunning, 1).ConfigSHA256; got != large.ConfigSHA256 {
		t.Errorf("serves %s, want %s", got, large.ConfigSHA256)
	}
	app.Unharmed()
}

// A rule that uses too much of the application's CPU is reported, by the canary during
// the load and by each later load, which changes nothing; without the rule, no error is
// reported.
func TestRuleTooExpensive(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	const pattern = ".*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*#x"
	expensive := stageAgent(t, nil, "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount'}, {pattern: '"+pattern+"'}]\n", port)
	for range 3 {
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: expensive})
		wantReason(t, report, helperapi.ReasonRuleTooExpensive)
		if want := "Rule 2 (" + pattern + ")"; !strings.HasPrefix(report.Error.Message, want) {
			t.Errorf("says %q, want %s", report.Error.Message, want)
		}
		mark := wantMark(t, report, helperapi.AgentRunning, 1)
		if mark.ConfigSHA256 != expensive.ConfigSHA256 || *mark.Reloads != 0 {
			t.Errorf("the agent serves %s after %d reloads, want %s after none", mark.ConfigSHA256, *mark.Reloads, expensive.ConfigSHA256)
		}
	}
	if !strings.Contains(scrape(port), "\njava_lang_Threading_ThreadCount ") {
		t.Error("the other rule is not served")
	}
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, anyMBean, port)})
	wantReason(t, report, "")
	if mark := wantMark(t, report, helperapi.AgentRunning, 1); *mark.Reloads != 1 {
		t.Errorf("%d reloads, want 1", *mark.Reloads)
	}
	app.Unharmed()
}
