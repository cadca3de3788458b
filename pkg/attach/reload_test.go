//go:build linux

package attach

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestCheckReload(t *testing.T) {
	running := func(config string, counts ...int64) *Mark {
		m := &Mark{State: AgentRunning, ConfigSHA256: config, ImplementationSHA256: "1"}
		if len(counts) == 2 {
			m.Reloads, m.ReloadFailures = &counts[0], &counts[1]
		}
		return m
	}
	replaced := running("b", 0, 0)
	replaced.ImplementationSHA256 = "2"
	for name, test := range map[string]struct {
		before, after *Mark
		says          string // empty: fine
	}{
		"counted":                {running("a", 0, 3), running("b", 1, 3), ""},
		"not counted":            {running("a", 1, 0), running("b", 1, 0), "from 1 reloads and 0 failures to 1 and 0."},
		"counted back":           {running("a", 2, 0), running("b", 1, 0), "from 2 reloads and 0 failures to 1 and 0."},
		"counted and failed":     {running("a", 0, 0), running("b", 1, 1), "from 0 reloads and 0 failures to 1 and 1."},
		"counts gone":            {running("a", 1, 0), running("b"), "from 1 reloads and 0 failures to 0 and 0."},
		"no counts before":       {running("a"), running("b", 0, 0), ""},
		"no counts":              {running("a"), running("b"), ""},
		"the same configuration": {running("a", 1, 1), running("a", 1, 1), ""},
		"other implementation":   {running("a", 5, 5), replaced, ""},
		"first load":             {nil, running("b", 0, 0), ""},
		"failed before":          {&Mark{State: AgentFailed, Reloads: new(int64(1))}, running("b", 0, 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkReload(test.before, test.after)
			if (err == nil) != (test.says == "") {
				t.Fatalf("error is %v", err)
			}
			if err != nil && (typed(err).Reason != ReasonAgentNotAnswering || !strings.HasSuffix(err.Error(), test.says)) {
				t.Errorf("said %q, want %q", err, test.says)
			}
		})
	}
}

// What the mark counts is what the metrics say.
func TestReloads(t *testing.T) {
	cleanHome(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), freePort(t)
	for i, step := range []struct {
		config            string
		reason            Reason
		reloads, failures int64
	}{
		{anyMBean, "", 0, 0},
		{otherConfig, "", 1, 0},
		{"hostPort: localhost:1\n", ReasonConfigRejected, 1, 1},
		{anyMBean, "", 2, 1},
	} {
		report := do(t, VerbLoad, Request{Target: target, Desired: stageAgent(t, nil, step.config, port)})
		wantReason(t, report, step.reason)
		mark := wantMark(t, report, AgentRunning, 1)
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
	app.Unharmed()
}
