//go:build linux

package helper

import (
	"bytes"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A request for the wrong process or with the wrong files has no effect.
func TestWrongRequests(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	reused := &helperapi.Target{PID: target.PID, StartTime: target.StartTime + 1}
	change := func(f func(*helperapi.Desired)) *helperapi.Desired { d := *desired; f(&d); return &d }
	missing := helperapi.NewFile("config-", []byte("missing"), ".yaml")
	for name, test := range map[string]struct {
		req    helperapi.Request
		reason helperapi.Reason
	}{
		"reused PID":      {helperapi.Request{Target: reused, Desired: desired}, helperapi.ReasonProcessGone},
		"no target":       {helperapi.Request{Desired: desired}, helperapi.ReasonBadRequest},
		"nothing desired": {helperapi.Request{Target: target}, helperapi.ReasonBadRequest},
		"path":            {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Config = "../etc/passwd" })}, helperapi.ReasonBadRequest},
		"no digest":       {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.ConfigSHA256 = "" })}, helperapi.ReasonBadRequest},
		"not an identity": {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Identity = "me\r\nSet-Cookie: a" })}, helperapi.ReasonBadRequest},
		"not a port":      {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Port = -1 })}, helperapi.ReasonBadRequest},
		"not staged":      {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Config, d.ConfigSHA256 = missing.Name, missing.SHA256 })}, helperapi.ReasonStagingIncomplete},
		"other content":   {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.ConfigSHA256 = missing.SHA256 })}, helperapi.ReasonStagingIncomplete},
		"wrong pod":       {helperapi.Request{PodUID: "0f3f5a6e-0000-4000-8000-000000000000", Target: target, Desired: desired}, helperapi.ReasonWrongPod},
	} {
		t.Run(name, func(t *testing.T) { wantReason(t, do(t, helperapi.VerbLoad, test.req), test.reason) })
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: reused}), "") // a process that exited counts as unloaded
	report := Helper{}.Do(canceled(), helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}, bytes.NewReader(nil))
	if report.Error == nil {
		t.Error("loads after the deadline")
	}
	if report := do(t, helperapi.VerbInspect, helperapi.Request{}); report.Processes[0].AgentJarOpen {
		t.Error("something was loaded")
	}
	app.Unharmed()
}
