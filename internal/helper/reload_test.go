//go:build linux

package helper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A configuration is considered served once the agent has counted it, regardless of how
// often it is checked and which helper was killed in between.
func TestCheckReload(t *testing.T) {
	running := func(config string, counts ...int64) *helperapi.Mark {
		m := &helperapi.Mark{State: helperapi.AgentRunning, ConfigSHA256: config, ImplementationSHA256: "1"}
		if len(counts) == 2 {
			m.Reloads, m.ReloadFailures = &counts[0], &counts[1]
		}
		return m
	}
	desired := func(implementation, config string) pairs {
		return runningPairs(helperapi.Desired{ImplementationSHA256: implementation, ConfigSHA256: config, Port: 9404})
	}
	failed := running("a", 1, 0)
	failed.State = helperapi.AgentFailed
	noted, unanswered := desired("1", "b"), desired("1", "b")
	noteReloads(noted, nil, running("a", 1, 0))
	unanswered.Set("token", "2")
	for name, test := range map[string]struct {
		current pairs
		before  *helperapi.Mark
		want    pairs
		after   *helperapi.Mark
		says    string // empty: no error
	}{
		"counted":                 {nil, running("a", 0, 3), desired("1", "b"), running("b", 1, 3), ""},
		"not counted":             {nil, running("a", 1, 0), desired("1", "b"), running("b", 1, 0), "has counted 1 reloads, as before."},
		"counted back":            {nil, running("a", 2, 0), desired("1", "b"), running("b", 1, 0), "has counted 2 reloads, as before."},
		"counts gone":             {nil, running("a", 1, 0), desired("1", "b"), running("b"), "has counted 1 reloads, as before."},
		"failed before it worked": {nil, running("a", 0, 0), desired("1", "b"), running("b", 1, 1), ""},
		"no counts before":        {nil, running("a"), desired("1", "b"), running("b", 0, 0), ""},
		"no counts":               {nil, running("a"), desired("1", "b"), running("b"), ""},
		"the same configuration":  {desired("1", "a"), running("a", 1, 1), desired("1", "a"), running("a", 1, 1), ""},
		"other implementation":    {nil, running("a", 5, 5), desired("2", "b"), running("b", 0, 0), ""},
		"first load":              {nil, nil, desired("1", "b"), running("b", 0, 0), ""},
		"failed before":           {nil, failed, desired("1", "b"), running("b", 0, 0), ""},
		"asked again":             {noted, running("b", 1, 0), desired("1", "b"), running("b", 1, 0), "has counted 1 reloads, as before."},
		"asked again, counted":    {noted, running("b", 2, 0), desired("1", "b"), running("b", 2, 0), ""},
		"asked again, failed":     {noted, running("b", 2, 1), desired("1", "b"), running("b", 2, 1), ""},
		"rejected, then taken":    {noted, running("a", 1, 1), desired("1", "b"), running("b", 2, 1), ""},
		"back to the one before":  {noted, running("a", 1, 1), desired("1", "a"), running("a", 1, 1), ""},
		"noted for another":       {noted, running("c", 0, 0), desired("1", "c"), running("c", 0, 0), ""},
		"has another order still": {unanswered, running("a", 5, 0), desired("1", "c"), running("c", 1, 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			noteReloads(test.want, test.current, test.before)
			err := checkReload(test.want, test.after)
			if (err == nil) != (test.says == "") {
				t.Fatalf("error is %v", err)
			}
			if err != nil && (typed(err).Reason != helperapi.ReasonAgentNotAnswering || !strings.HasSuffix(err.Error(), test.says)) {
				t.Errorf("said %q, want %q", err, test.says)
			}
			if !sameContent(test.want, desired(test.want.Get("implementation.sha256"), test.want.Get("config.sha256"))) {
				t.Error("what is noted asks another thing of the agent")
			}
		})
	}
}

// The mark and the metrics have the same counts.
func TestReloads(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	var desired *helperapi.Desired
	for i, step := range []struct {
		config            string
		reason            helperapi.Reason
		reloads, failures int64
	}{
		{anyMBean, "", 0, 0},
		{otherConfig, "", 1, 0},
		{"hostPort: db:1\n", helperapi.ReasonConfigRejected, 1, 1},
		{anyMBean, "", 2, 1},
	} {
		desired = stageAgent(t, nil, step.config, port)
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, report, step.reason)
		mark := wantMark(t, report, helperapi.AgentRunning, 1)
		if diff := cmp.Diff([]*int64{&step.reloads, &step.failures}, []*int64{mark.Reloads, mark.ReloadFailures}); diff != "" {
			t.Errorf("step %d: reloads and failures (-want +got):\n%s", i, diff)
		}
		metrics := scrape(port)
		for _, want := range []string{
			fmt.Sprintf("\njmx_config_reload_success_total %d.0\n", step.reloads),
			fmt.Sprintf("\njmx_config_reload_failure_total %d.0\n", step.failures),
		} {
			if !strings.Contains(metrics, want) {
				t.Errorf("step %d: no %q in the metrics", i, want)
			}
		}
	}

	// Our agent does not miscount, so the desired file is changed instead.
	p := processOf(t, target)
	dir, err := directoryIn(p, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	file := directory.DesiredFile(p)
	told := dir.ReadDesired(file)
	told.Set(reloadsBefore, "99")
	if err := dir.WriteDesired(file, told); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), helperapi.ReasonAgentNotAnswering)
	}
	app.Unharmed()
}
