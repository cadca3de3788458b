//go:build linux

package helper

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	servedConfig = "excludeJvmMetrics: true\nincludeObjectNames: ['java.lang:type=Runtime']\nrules: [{pattern: 'java.lang<type=Runtime><>SpecVersion: (.*)', name: served, value: 1}]\n"
	// expensiveConfig has a pattern that tracks back for years.
	expensiveConfig = "rules: [{pattern: '.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*#x', name: never}]\n"
)

// askJudgement stages a configuration and asks the agent of a JVM for its judgement.
func askJudgement(t *testing.T, target *helperapi.Target, config string) helperapi.Report {
	t.Helper()
	file := helperapi.NewFile("config-", []byte(config), ".yaml")
	req := helperapi.Request{Target: target, Files: []helperapi.File{file}, Candidate: &file}
	wantReason(t, do(t, helperapi.VerbStage, req, []byte(config)), "")
	report := do(t, helperapi.VerbCheck, req)
	// On a busy machine, not each trial ends within its time.
	for end := time.Now().Add(time.Minute); report.Judgement != nil && report.Judgement.Reason == helperapi.JudgementTrialIncomplete && time.Now().Before(end); {
		report = do(t, helperapi.VerbCheck, req)
	}
	return report
}

// desiredOf returns the contents of a JVM's desired file, and a function that replaces them.
func desiredOf(t *testing.T, target *helperapi.Target) (pairs, func(pairs)) {
	t.Helper()
	p := processOf(t, target)
	dir, err := directoryIn(p, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir.ReadDesired(directory.DesiredFile(p)), func(content pairs) {
		t.Helper()
		if err := dir.WriteDesired(directory.DesiredFile(p), content); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutToken returns the contents of a desired file, except what is new at each write.
func withoutToken(p pairs) pairs {
	p = maps.Clone(p)
	p.Del("token")
	return p
}

// costs are what a scrape says of itself, which is never the same.
var costs = regexp.MustCompile(`(?m)^(jmx_scrape_duration_seconds|jmx_exporter_collection_).*\n`)

func steady(port int32) string { return costs.ReplaceAllString(scrape(port), "") }

// The agent judges, and neither what it serves nor what it last was to do changes. A load
// after it has nothing to do.
func TestCheck(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	req := helperapi.Request{Target: target}
	for _, config := range []string{anyMBean, servedConfig} { // the second one is a reload
		req.Desired = stageAgent(t, nil, config, port)
		wantReason(t, do(t, helperapi.VerbLoad, req), "")
	}
	before, _ := desiredOf(t, target)
	if !before.Has(reloadsBefore) {
		t.Fatalf("no reload is noted in %v", before)
	}
	metrics := steady(port)
	for name, test := range map[string]struct {
		config string
		reason helperapi.JudgementReason
	}{
		"accepted":  {anyMBean, ""},
		"served":    {servedConfig, ""},
		"rejected":  {"hostPort: db:1\n", helperapi.JudgementReason(helperapi.ReasonConfigRejected)},
		"expensive": {expensiveConfig, helperapi.JudgementReason(helperapi.ReasonRuleTooExpensive)},
	} {
		t.Run(name, func(t *testing.T) {
			report := askJudgement(t, target, test.config)
			wantReason(t, report, "")
			judged := report.Judgement
			if judged == nil || judged.Reason != test.reason || (judged.Message == "") != (test.reason == "") {
				t.Fatalf("the agent judged %+v, want %q", judged, test.reason)
			}
			if test.reason == "" && (*judged.Series < 1 || *judged.MBeans < 1) {
				t.Errorf("got %+v", judged)
			}
			mark := wantMark(t, report, helperapi.AgentRunning, 1)
			if mark.Judgement != nil || mark.Reason != "" || mark.ConfigSHA256 != req.Desired.ConfigSHA256 || *mark.Reloads != 1 || *mark.ReloadFailures != 0 {
				t.Errorf("the mark is %+v", mark)
			}
			after, _ := desiredOf(t, target)
			if diff := cmp.Diff(withoutToken(before), withoutToken(after)); diff != "" {
				t.Errorf("the desired file (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(metrics, steady(port)); diff != "" {
				t.Errorf("the metrics (-before +after):\n%s", diff)
			}
			wantReason(t, do(t, helperapi.VerbLoad, req), "")
			if again, _ := desiredOf(t, target); again.Get("token") != after.Get("token") {
				t.Error("a load after the check changed the desired file")
			}
		})
	}
	app.Unharmed()
}

// Whatever a helper did next, a killed one leaves its request only until then.
func TestCheckInterrupted(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, req helperapi.Request) helperapi.Report{
		"load": func(t *testing.T, req helperapi.Request) helperapi.Report { return do(t, helperapi.VerbLoad, req) },
		"another configuration": func(t *testing.T, req helperapi.Request) helperapi.Report {
			req.Desired = stageAgent(t, nil, otherConfig, req.Desired.Port)
			return do(t, helperapi.VerbLoad, req)
		},
		"check": func(t *testing.T, req helperapi.Request) helperapi.Report {
			return askJudgement(t, req.Target, anyMBean)
		},
		"unload and load": func(t *testing.T, req helperapi.Request) helperapi.Report {
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
			req.Desired = stageAgent(t, nil, servedConfig, req.Desired.Port)
			return do(t, helperapi.VerbLoad, req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := jvmtest.Need(t, 17).Start(t, silentLoad)
			req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, servedConfig, jvmtest.FreePort(t))}
			wantReason(t, do(t, helperapi.VerbLoad, req), "")
			current, write := desiredOf(t, req.Target)
			current.Set(reloadsBefore, "-1")
			file := helperapi.NewFile("config-", []byte(anyMBean), ".yaml")
			wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: req.Target, Files: []helperapi.File{file}}, []byte(anyMBean)), "")
			asked := askedPairs(current, file)
			asked.Set("token", "of-one-that-was-killed")
			write(asked)
			a := agentIn{process: processOf(t, req.Target)}
			if err := a.await(t.Context(), "of-one-that-was-killed"); err != nil {
				t.Fatal(err)
			}
			if a.mark.Judgement == nil || a.mark.ConfigSHA256 != req.Desired.ConfigSHA256 {
				t.Fatalf("the mark is %+v", a.mark)
			}

			report := next(t, req)
			wantReason(t, report, "")
			after, _ := desiredOf(t, req.Target)
			if withdrawCandidate(after) {
				t.Errorf("the desired file still asks for a judgement: %v", after)
			}
			if name == "load" && !after.Has(reloadsBefore) {
				t.Errorf("the count of reloads is forgotten: %v", after)
			}
			if mark := report.Processes[0].Mark; mark.Judgement != nil || mark.Desired != after.Get("token") {
				t.Errorf("the mark is %+v", mark)
			}
			if scrape(req.Desired.Port) == "" {
				t.Error("nothing is served")
			}
			app.Unharmed()
		})
	}
}

// An agent that does not serve what it was to serve is asked nothing: it would try that
// again.
func TestCheckNotSettled(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	file := helperapi.NewFile("config-", []byte(anyMBean), ".yaml")
	for _, verb := range []helperapi.Verb{helperapi.VerbStage, helperapi.VerbCheck} {
		report := do(t, verb, helperapi.Request{Target: target, Files: []helperapi.File{file}, Candidate: &file}, []byte(anyMBean))
		wantReason(t, report, helperapi.ReasonAgentFailed) // no agent
	}
	if _, err := os.Stat(helperapi.AgentDirectory); err == nil {
		t.Error("the agent directory was created")
	}
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, servedConfig, port)}), "")
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, "hostPort: db:1\n", port)}), helperapi.ReasonConfigRejected)
	before, _ := desiredOf(t, target)
	report := askJudgement(t, target, anyMBean)
	wantReason(t, report, helperapi.ReasonAgentFailed)
	if !strings.Contains(report.Error.Message, "hostPort") || report.Judgement != nil {
		t.Errorf("got %+v", report.Error)
	}
	after, _ := desiredOf(t, target)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the desired file (-before +after):\n%s", diff)
	}
	missing := helperapi.NewFile("config-", []byte("lowercaseOutputLabelNames: true\n"), ".yaml")
	wantReason(t, do(t, helperapi.VerbCheck, helperapi.Request{Target: target, Candidate: &missing}), helperapi.ReasonStagingIncomplete)
	wantReason(t, do(t, helperapi.VerbCheck, helperapi.Request{Target: target}), helperapi.ReasonBadRequest)
	app.Unharmed()
}

// A judgement takes memory, as a start of the agent's implementation does: it is refused
// where there is too little of it, and what is served stays.
func TestCheckLittleMemory(t *testing.T) {
	cleanDirectory(t)
	app, group := limitedJVM(t, jvmtest.Need(t, 17))
	req := stagedInside(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	for range 20 {
		scrape(req.Desired.Port)
	}
	before, _ := desiredOf(t, req.Target)
	req.Candidate = &helperapi.File{Name: req.Desired.Config, SHA256: req.Desired.ConfigSHA256, Size: int64(len(anyMBean))}
	group.Leave(8 * mib)
	report := do(t, helperapi.VerbCheck, req)
	wantReason(t, report, helperapi.ReasonInsufficientMemory)
	if !strings.HasPrefix(report.Error.Message, "A judgement needs 24 MiB") {
		t.Errorf("the sentence is: %s", report.Error.Message)
	}
	after, _ := desiredOf(t, req.Target)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the desired file (-before +after):\n%s", diff)
	}
	group.Leave(helperapi.DefaultMemoryHeadroom / 2)
	wantReason(t, do(t, helperapi.VerbCheck, req), "")
	app.Unharmed()
}

// A JVM that exits when its heap is full judges only where there is room.
func TestCheckLittleHeap(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xmx128m", "-XX:+UseG1GC", "-XX:+EnableDynamicAgentLoading", "-XX:+ExitOnOutOfMemoryError", fmt.Sprintf("-Djvmtest.leave=%d", 10*mib)}, Dir: t.TempDir()})
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	app.Tell("fill")
	report := askJudgement(t, req.Target, otherConfig)
	app.Unharmed()
	wantReason(t, report, helperapi.ReasonInsufficientHeap)
	app.Tell("empty")
	wantReason(t, askJudgement(t, req.Target, otherConfig), "")
}

// What an older agent says of the configuration that it serves is no judgement of another.
func TestJudgementIn(t *testing.T) {
	judged := &helperapi.Judgement{Token: "t", Reason: helperapi.JudgementReason(helperapi.ReasonConfigRejected)}
	for name, test := range map[string]struct {
		mark   helperapi.Mark
		judged bool
		says   string
	}{
		"judged":                    {helperapi.Mark{State: helperapi.AgentRunning, Judgement: judged}, true, ""},
		"judged, with notices":      {helperapi.Mark{State: helperapi.AgentRunning, Reason: helperapi.ReasonRuleTooExpensive, Judgement: judged}, true, ""},
		"older":                     {helperapi.Mark{State: helperapi.AgentRunning, Agent: "0.9"}, false, "(version 0.9) is older than this check"},
		"older, with an expensive":  {helperapi.Mark{State: helperapi.AgentRunning, Agent: "0.9", Reason: helperapi.ReasonRuleTooExpensive, Message: "Rule 2"}, false, "(version 0.9) is older than this check"},
		"of another desired file":   {helperapi.Mark{State: helperapi.AgentRunning, Agent: "0.9", Judgement: &helperapi.Judgement{Token: "u"}}, false, "is older than this check"},
		"does not serve any longer": {helperapi.Mark{State: helperapi.AgentFailed, Reason: helperapi.ReasonPortInUse, Message: "Port 1 is in use."}, false, "Port 1 is in use."},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := judgementIn(&test.mark, "t")
			if (got == judged) != test.judged || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
