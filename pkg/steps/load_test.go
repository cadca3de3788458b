package steps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// An intent is recorded before the first load and each retry of it, and once before
// a running agent is reconfigured.
func TestAnnounce(t *testing.T) {
	s := aSituation(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
		p.Port, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = 0, nil, "", ""
	}))
	s.Helper = &answering{}
	p, j := s.jvm().Process, s.jvm()
	announced := func(what, config string, isNew bool) {
		t.Helper()
		s.Now = metav1.NewTime(s.Now.Add(time.Minute))
		Load{s.Tools}.Announce(t.Context(), j)
		if p.Intent == nil || p.Intent.Port != 9400 || p.Intent.ConfigSHA256 != blob(config).SHA256 || p.Intent.Time.Equal(&s.Now) != isNew {
			t.Errorf("%s: intent: got %+v at %s", what, p.Intent, s.Now)
		}
	}
	announced("the first load", "config", true)
	announced("a retry of the first load", "config", true)
	p.Port, p.ConfigSHA256, p.ImplementationSHA256 = 9400, blob("config").SHA256, blob("implementation").SHA256
	announced("the agent serves the desired state", "config", false)
	p.ConfigSHA256 = ""
	announced("the agent is gone, and is loaded again", "config", true)
	p.ConfigSHA256 = blob("config").SHA256
	s.Config.Blob, s.Granted = blob("new"), false
	announced("the configuration changed, and is not granted", "config", false)
	s.Config.Problem, s.Granted = &Problem{}, true
	announced("the configuration is invalid", "config", false)
	s.Config.Problem = nil
	announced("the configuration changed", "new", true)
	p.Adopted, p.Intent = true, nil
	if (Load{s.Tools}).Announce(t.Context(), j); p.Intent != nil {
		t.Errorf("intent of an adopted process: got %+v, want none", p.Intent)
	}
}

// The outcome of a load, and the resulting status of the agent.
func TestLoad(t *testing.T) {
	mark := func(config string, port int32) *helperapi.Mark {
		return &helperapi.Mark{State: helperapi.AgentRunning, Port: port, ConfigSHA256: blob(config).SHA256, ImplementationSHA256: blob("implementation").SHA256}
	}
	for name, tc := range map[string]struct {
		load   func() (*helperapi.Report, error)
		before func(*v1alpha1.JavaProcess)
		want   string
		back   string
		served int32
		staged bool
	}{
		"the agent is loaded":      {load: sees(helperapi.Process{Mark: mark("config", 9400)}), served: 9400, staged: true},
		"the agent already serves": {before: func(p *v1alpha1.JavaProcess) { *p = serving("app", 9400) }, served: 9400, staged: true},
		"the outcome of a load with something else is lost": {before: func(p *v1alpha1.JavaProcess) {
			*p = serving("app", 9400)
			p.Intent.ConfigSHA256 = blob("changed for a while").SHA256
		}, load: says(v1alpha1.ReasonExecFailed), want: v1alpha1.ReasonExecFailed, served: 9400, staged: true},
		"the process is adopted":                      {before: func(p *v1alpha1.JavaProcess) { p.Adopted, p.Port = true, 9999 }, served: 9999, staged: true},
		"the agent serves another port":               {load: sees(helperapi.Process{Mark: mark("config", 9404)}), want: v1alpha1.ReasonAgentNotAnswering, served: 9404, staged: true},
		"the agent serves the previous configuration": {load: sees(helperapi.Process{Mark: mark("old", 9400)}), want: v1alpha1.ReasonAgentNotAnswering, served: 9400, staged: true},
		"there is no mark":                            {load: sees(helperapi.Process{}), want: v1alpha1.ReasonHelperFailed, staged: true},
		"there is no process":                         {load: sees(), want: v1alpha1.ReasonHelperFailed, staged: true},
		"the port is in use":                          {load: says(v1alpha1.ReasonPortInUse), want: v1alpha1.ReasonPortInUse, staged: true},
		"the files were removed":                      {load: says(v1alpha1.ReasonStagingIncomplete), want: v1alpha1.ReasonStagingIncomplete, back: ConfigChanged},
		"the JVM is gone":                             {load: says(v1alpha1.ReasonProcessGone), want: v1alpha1.ReasonProcessGone, back: Replaced, staged: true},
		"the stock exporter started":                  {load: says(v1alpha1.ReasonStockExporter), want: v1alpha1.ReasonReplaced, back: Replaced, staged: true},
		"there is no capacity":                        {load: says(v1alpha1.ReasonQueued), want: v1alpha1.ReasonQueued, staged: true},
		"the configuration is rejected":               {load: says(v1alpha1.ReasonConfigRejected), want: v1alpha1.ReasonConfigRejected, staged: true},
	} {
		s := aSituation(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
			p.Port, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = 0, nil, "", ""
		}))
		p := s.jvm().Process
		if tc.before != nil {
			tc.before(p)
		}
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app load": tc.load}}
		got := Load{s.Tools}.Ensure(t.Context(), s.jvm())
		if got.Reason != tc.want || got.Back != tc.back || p.Port != tc.served || (p.Staged != nil) != tc.staged {
			t.Errorf("%s: got %s, back by %q, with process %+v; want %s, back by %q, port %d, staged %t", name, got.Reason, got.Back, p, tc.want, tc.back, tc.served, tc.staged)
		}
	}
}

// A load that has no capacity, or whose container does not answer, does not begin, and the
// status has no intent: a container that exits then did not exit after
// an attach.
func TestAnnounceNeedsRoom(t *testing.T) {
	type answers = map[string]func() (*helperapi.Report, error)
	for name, tc := range map[string]struct {
		answers answers
		serves  bool
		want    statemachine.Kind // 0: the load is tried
		begun   bool
	}{
		"there is capacity":                       {begun: true},
		"there is no capacity":                    {answers: answers{"app open": says(v1alpha1.ReasonQueued)}, want: statemachine.Queued},
		"the container does not answer":           {answers: answers{"app open": says(v1alpha1.ReasonContainerNotResponding)}, want: statemachine.Failed},
		"there is no capacity, and nothing to do": {answers: answers{"app open": says(v1alpha1.ReasonQueued)}, serves: true, begun: true},
	} {
		s := aSituation(serving("app", 9400))
		p := s.jvm().Process
		if !tc.serves {
			p.Intent, p.Port, p.ConfigSHA256 = nil, 0, ""
		}
		s.Helper = &answering{answers: tc.answers}
		got := (Load{s.Tools}).Announce(t.Context(), s.jvm())
		if (got != nil) != (tc.want != 0) || got != nil && got.Kind != tc.want || (p.Intent != nil) != tc.begun {
			t.Errorf("%s: got %+v with intent %+v", name, got, p.Intent)
		}
	}
}

// An agent is stopped, and the status records that only once it is; a process without an
// agent that cannot be reached has nothing to stop.
func TestUnload(t *testing.T) {
	none := func(p *v1alpha1.JavaProcess) { p.Intent = nil }
	for name, tc := range map[string]struct {
		unload func() (*helperapi.Report, error)
		before func(*v1alpha1.JavaProcess)
		want   statemachine.Kind
		ran    bool
	}{
		"the agent stops":                    {unload: sees(), want: statemachine.Done, ran: true},
		"the agent does not stop":            {unload: says(v1alpha1.ReasonAttachTimeout), want: statemachine.Failed, ran: true},
		"there is no capacity":               {unload: says(v1alpha1.ReasonQueued), want: statemachine.Queued, ran: true},
		"there is no agent":                  {unload: sees(), before: none, want: statemachine.Done, ran: true},
		"there is no agent, and no shell":    {unload: says(v1alpha1.ReasonNoShell), before: none, want: statemachine.Done, ran: true},
		"there is no agent, and no capacity": {unload: says(v1alpha1.ReasonQueued), before: none, want: statemachine.Queued, ran: true},
		"the container is gone":              {before: func(p *v1alpha1.JavaProcess) { p.ContainerID = "containerd://old" }, want: statemachine.Done},
		"the stock exporter keeps running":   {unload: sees(), before: func(p *v1alpha1.JavaProcess) { p.Adopted = true }, want: statemachine.Done, ran: true},
	} {
		s := aSituation(serving("app", 9400))
		p := s.jvm().Process
		if tc.before != nil {
			tc.before(p)
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app unload": tc.unload}}
		s.Helper = helper
		before := p.DeepCopy()
		got := Load{s.Tools}.Undo(t.Context(), s.jvm())
		if got.Kind != tc.want || (len(helper.ran) > 0) != tc.ran {
			t.Errorf("%s: got %d %s after calls %v", name, got.Kind, got.Reason, helper.ran)
		}
		if got.Kind != statemachine.Done {
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("%s: process in the status (-before +after):\n%s", name, diff)
			}
		} else if tc.ran && (record.MayHaveAgent(p) || (p.Port != 0 || p.ConfigSHA256 != "") != p.Adopted) {
			t.Errorf("%s: the agent or its endpoint is still recorded: %+v", name, p)
		}
	}
}
