package steps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// An intent is recorded before the first load, with each try of it, and before what
// an agent that is there is asked for: once.
func TestAnnounce(t *testing.T) {
	s := aScope(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
		p.Port, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = 0, nil, "", ""
	}))
	s.Helper = &answering{}
	p, j := s.jvm().Process, s.jvm()
	announced := func(what, config string, isNew bool) {
		t.Helper()
		s.Now = metav1.NewTime(s.Now.Add(time.Minute))
		Load{}.Announce(t.Context(), j)
		if p.Intent == nil || p.Intent.Port != 9400 || p.Intent.ConfigSHA256 != blob(config).SHA256 || p.Intent.Time.Equal(&s.Now) != isNew {
			t.Errorf("%s: the intent is %+v, at %s", what, p.Intent, s.Now)
		}
	}
	announced("the first load", "config", true)
	announced("its next try", "config", true)
	p.Port, p.ConfigSHA256, p.ImplementationSHA256 = 9400, blob("config").SHA256, blob("implementation").SHA256
	announced("it serves what is wanted", "config", false)
	p.ConfigSHA256 = ""
	announced("its agent is gone, and is loaded again", "config", true)
	p.ConfigSHA256 = blob("config").SHA256
	s.Config.Blob, s.Granted = blob("new"), false
	announced("another configuration, not granted", "config", false)
	s.Config.Problem, s.Granted = &Problem{}, true
	announced("another configuration, which is broken", "config", false)
	s.Config.Problem = nil
	announced("another configuration", "new", true)
	p.Adopted, p.Intent = true, nil
	if (Load{}).Announce(t.Context(), j); p.Intent != nil {
		t.Errorf("for an adopted process, the intent is %+v", p.Intent)
	}
}

// What a load comes to, and what the record says of the agent then.
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
		"loaded":                 {load: sees(helperapi.Process{Mark: mark("config", 9400)}), served: 9400, staged: true},
		"it serves already":      {before: func(p *v1alpha1.JavaProcess) { *p = serving("app", 9400) }, served: 9400, staged: true},
		"it is adopted":          {before: func(p *v1alpha1.JavaProcess) { p.Adopted, p.Port = true, 9999 }, served: 9999, staged: true},
		"on another port":        {load: sees(helperapi.Process{Mark: mark("config", 9404)}), want: v1alpha1.ReasonAgentNotAnswering, served: 9404, staged: true},
		"with what was before":   {load: sees(helperapi.Process{Mark: mark("old", 9400)}), want: v1alpha1.ReasonAgentNotAnswering, served: 9400, staged: true},
		"no mark":                {load: sees(helperapi.Process{}), want: v1alpha1.ReasonHelperFailed, staged: true},
		"no process":             {load: sees(), want: v1alpha1.ReasonHelperFailed, staged: true},
		"the port is in use":     {load: says(v1alpha1.ReasonPortInUse), want: v1alpha1.ReasonPortInUse, staged: true},
		"the files went":         {load: says(v1alpha1.ReasonStagingIncomplete), want: v1alpha1.ReasonStagingIncomplete, back: ConfigChanged},
		"the JVM is gone":        {load: says(v1alpha1.ReasonProcessGone), want: v1alpha1.ReasonProcessGone, back: Replaced, staged: true},
		"the stock one came":     {load: says(v1alpha1.ReasonStockExporter), want: v1alpha1.ReasonReplaced, back: Replaced, staged: true},
		"there is no room":       {load: says(v1alpha1.ReasonQueued), want: v1alpha1.ReasonQueued, staged: true},
		"the config is rejected": {load: says(v1alpha1.ReasonConfigRejected), want: v1alpha1.ReasonConfigRejected, staged: true},
	} {
		s := aScope(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
			p.Port, p.Intent, p.ConfigSHA256, p.ImplementationSHA256 = 0, nil, "", ""
		}))
		p := s.jvm().Process
		if tc.before != nil {
			tc.before(p)
		}
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app load": tc.load}}
		got := Load{}.Ensure(t.Context(), s.jvm())
		if got.Reason != tc.want || got.Back != tc.back || p.Port != tc.served || (p.Staged != nil) != tc.staged {
			t.Errorf("%s: %s, back by %q; the record is %+v", name, got.Reason, got.Back, p)
		}
	}
}

// A load for which there is no room, or no container that answers, is not begun, and
// the record does not say that it was: a container that ends then did not end after
// an attach.
func TestAnnounceNeedsRoom(t *testing.T) {
	type answers = map[string]func() (*helperapi.Report, error)
	for name, tc := range map[string]struct {
		answers answers
		serves  bool
		want    statemachine.Kind // 0: the load is tried
		begun   bool
	}{
		"there is room":                      {begun: true},
		"there is no room":                   {answers: answers{"app open": says(v1alpha1.ReasonQueued)}, want: statemachine.Queued},
		"the container does not answer":      {answers: answers{"app open": says(v1alpha1.ReasonContainerNotResponding)}, want: statemachine.Failed},
		"no room, but nothing is to be done": {answers: answers{"app open": says(v1alpha1.ReasonQueued)}, serves: true, begun: true},
	} {
		s := aScope(serving("app", 9400))
		p := s.jvm().Process
		if !tc.serves {
			p.Intent, p.Port, p.ConfigSHA256 = nil, 0, ""
		}
		s.Helper = &answering{answers: tc.answers}
		got := (Load{}).Announce(t.Context(), s.jvm())
		if (got != nil) != (tc.want != 0) || got != nil && got.Kind != tc.want || (p.Intent != nil) != tc.begun {
			t.Errorf("%s: %+v; the intent is %+v", name, got, p.Intent)
		}
	}
}

// An agent is stopped, and the record says so only when it is; where none is, and
// nothing can be done, nothing is left.
func TestUnload(t *testing.T) {
	none := func(p *v1alpha1.JavaProcess) { p.Intent = nil }
	for name, tc := range map[string]struct {
		unload func() (*helperapi.Report, error)
		before func(*v1alpha1.JavaProcess)
		want   statemachine.Kind
		ran    bool
	}{
		"stopped":                       {unload: sees(), want: statemachine.Done, ran: true},
		"it does not stop":              {unload: says(v1alpha1.ReasonAttachTimeout), want: statemachine.Failed, ran: true},
		"there is no room":              {unload: says(v1alpha1.ReasonQueued), want: statemachine.Queued, ran: true},
		"no agent":                      {unload: sees(), before: none, want: statemachine.Done, ran: true},
		"no agent, and it cannot":       {unload: says(v1alpha1.ReasonNoShell), before: none, want: statemachine.Done, ran: true},
		"no agent, and there's no room": {unload: says(v1alpha1.ReasonQueued), before: none, want: statemachine.Queued, ran: true},
		"its container is gone":         {before: func(p *v1alpha1.JavaProcess) { p.ContainerID = "containerd://old" }, want: statemachine.Done},
		"the stock exporter stays":      {unload: sees(), before: func(p *v1alpha1.JavaProcess) { p.Adopted = true }, want: statemachine.Done, ran: true},
	} {
		s := aScope(serving("app", 9400))
		p := s.jvm().Process
		if tc.before != nil {
			tc.before(p)
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app unload": tc.unload}}
		s.Helper = helper
		before := p.DeepCopy()
		got := Load{}.Undo(t.Context(), s.jvm())
		if got.Kind != tc.want || (len(helper.ran) > 0) != tc.ran {
			t.Errorf("%s: %d %s after %v", name, got.Kind, got.Reason, helper.ran)
		}
		if got.Kind != statemachine.Done {
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("%s: the record (-before +after):\n%s", name, diff)
			}
		} else if tc.ran && (MayHaveAgent(p) || (p.Port != 0 || p.ConfigSHA256 != "") != p.Adopted) {
			t.Errorf("%s: the record is %+v", name, p)
		}
	}
}
