//go:build linux

package main

import (
	"os"
	"strings"
	"sync"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The failure of one call does not affect the next.
func TestSession(t *testing.T) {
	content := strings.Repeat("all of it", 1<<16)
	file := helperapi.NewFile("agent-", []byte(content), ".jar")
	other := helperapi.NewFile("agent-", []byte("something else"), ".jar")
	other.Size = int64(len(content))
	s := newTalkOf(t, file, other)
	for _, step := range []struct {
		verb   helperapi.Verb
		req    helperapi.Request
		reason helperapi.Reason
	}{
		{"inspect", helperapi.Request{}, ""},
		{"conquer", helperapi.Request{}, helperapi.ReasonBadRequest},
		{"serve", helperapi.Request{}, helperapi.ReasonBadRequest},
		{"stage", helperapi.Request{Files: []helperapi.File{other}}, helperapi.ReasonStagingIncomplete},
		{"stage", helperapi.Request{Files: []helperapi.File{file}}, ""},
		{"stage", helperapi.Request{Files: []helperapi.File{file}}, ""}, // exists already: the content is skipped
		{"stage", helperapi.Request{}, ""},
		{"load", helperapi.Request{}, helperapi.ReasonBadRequest},
		{"status", helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}, helperapi.ReasonProcessGone},
		{"probe", helperapi.Request{Probe: &helperapi.Endpoint{Port: 1, Path: "/"}}, helperapi.ReasonEndpointNotServing},
		{"inspect", helperapi.Request{Files: []helperapi.File{file}}, ""},
	} {
		report := s.call(step.verb, step.req, content)
		wantReason(t, report, step.reason)
		if step.reason == "" && len(report.Files) != len(step.req.Files) {
			t.Errorf("%s: files are %+v", step.verb, report.Files)
		}
	}
	s.end()
}

// The contents of a refused call are not requested.
func TestRefusedUnread(t *testing.T) {
	file := helperapi.NewFile("agent-", []byte("all of it"), ".jar")
	s := newTalkOf(t, file)
	huge := file
	huge.Size = 1 << 62
	for reason, req := range map[helperapi.Reason]helperapi.Request{
		helperapi.ReasonWrongPod:   {PodUID: "00000000-0000-4000-8000-000000000000", Files: []helperapi.File{file}},
		helperapi.ReasonBadRequest: {Files: []helperapi.File{huge, huge, huge}},
	} {
		answer := s.ask(helperapi.VerbStage, req)
		if answer.Send != 0 || answer.Report == nil {
			t.Fatalf("got %+v", answer)
		}
		wantReason(t, *answer.Report, reason)
	}
	s.end()
}

// Concurrent loads into one JVM load one agent.
func TestTwoHelpers(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	agentJar, exporterJar := agentJars(t)
	agent, err := os.ReadFile(agentJar)
	if err != nil {
		t.Fatal(err)
	}
	exporter, err := os.ReadFile(exporterJar)
	if err != nil {
		t.Fatal(err)
	}
	files := []helperapi.File{
		helperapi.NewFile("agent-", agent, ".jar"), helperapi.NewFile("exporter-", exporter, ".jar"), helperapi.NewFile("config-", []byte(anyMBean), ".yaml"),
	}
	start, err := jvm.StartTime(app.PID)
	if err != nil {
		t.Fatal(err)
	}
	target := &helperapi.Target{PID: app.PID, StartTime: start}
	desired := &helperapi.Desired{
		Agent: files[0].Name, AgentSHA256: files[0].SHA256, Implementation: files[1].Name, ImplementationSHA256: files[1].SHA256,
		Config: files[2].Name, ConfigSHA256: files[2].SHA256, Port: jvmtest.FreePort(t),
	}
	talks := []*talk{newTalkOf(t, files...), newTalkOf(t, files...), newTalkOf(t, files...)}
	wantReason(t, talks[0].call(helperapi.VerbStage, helperapi.Request{Files: files}, string(agent)+string(exporter)+anyMBean), "")
	var wg sync.WaitGroup
	for _, s := range talks {
		wg.Go(func() {
			report := s.load(helperapi.Request{Target: target, Desired: desired})
			if report.Error != nil && report.Error.Reason != helperapi.ReasonBusy {
				t.Errorf("%s: %s", report.Error.Reason, report.Error.Message)
			}
		})
	}
	wg.Wait()
	report := talks[0].call(helperapi.VerbStatus, helperapi.Request{Target: target}, "")
	if m := report.Processes[0].Mark; m == nil || m.Loads != 1 || m.State != helperapi.AgentRunning {
		t.Errorf("mark is %+v, %v", m, report.Error)
	}
	for _, s := range talks {
		s.end()
	}
	app.Unharmed()
}
