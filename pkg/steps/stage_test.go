package steps

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// What is not in the container is brought there; what was staged stands, while the
// configuration is broken or what is new is not granted.
func TestStage(t *testing.T) {
	wanted := serving("app", 9400).Staged
	old := &v1alpha1.StagedFiles{ConfigSHA256: "old"}
	file := func(of string) helperapi.File { return blob(of).File }
	all := []helperapi.File{file("agent"), file("implementation"), file("config")}
	broken := func(s *Scope) { s.Config.Problem = &Problem{Reason: v1alpha1.ReasonConfigNotYAML} }
	notGranted := func(s *Scope) { s.Granted = false }
	for name, tc := range map[string]struct {
		present []helperapi.File
		staged  *v1alpha1.StagedFiles
		how     func(*Scope)
		want    string
		ran     []string
		after   *v1alpha1.StagedFiles
	}{
		"nothing is there":                 {ran: []string{"app inspect", "app stage"}, after: wanted},
		"all is there":                     {present: all, ran: []string{"app inspect"}, after: wanted},
		"something is there":               {present: all[:2], ran: []string{"app inspect", "app stage"}, after: wanted},
		"what was staged is out of date":   {present: all[:2], staged: old, ran: []string{"app inspect", "app stage"}, after: wanted},
		"it is, but nothing is granted":    {staged: old, how: notGranted, after: old},
		"it is, but what's new is broken":  {staged: old, how: broken, after: old},
		"the configuration is broken":      {how: broken, want: v1alpha1.ReasonConfigNotYAML},
		"the stock exporter is in the JVM": {how: func(s *Scope) { s.jvm().Process.Adopted = true }},
	} {
		s := aScope(with(aProcess("app", 0), func(p *v1alpha1.JavaProcess) { p.Staged = tc.staged }))
		if tc.how != nil {
			tc.how(s)
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect": func() (*helperapi.Report, error) { return &helperapi.Report{Files: tc.present}, nil },
			"app stage":   sees(),
		}}
		s.Helper = helper
		if got := (Stage{}).Ensure(t.Context(), s.jvm()); got.Reason != tc.want {
			t.Errorf("%s: %s %s", name, got.Reason, got.Message)
		}
		if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
			t.Errorf("%s: what ran (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.after, s.jvm().Process.Staged); diff != "" {
			t.Errorf("%s: what is staged (-want +got):\n%s", name, diff)
		}
	}
}

// A container is asked once in a reconcile which files lie there: by the inspection
// that finds the JVM, and for all of its JVMs.
func TestFilesAreLookedForOnce(t *testing.T) {
	all := []helperapi.File{blob("agent").File, blob("implementation").File, blob("config").File}
	second := helperapi.Process{Target: helperapi.Target{PID: 8, StartTime: 12}}
	inspected := func(s *Scope) {
		s.Status().Processes = nil
		FindJava{}.Ensure(t.Context(), s)
	}
	for name, tc := range map[string]struct {
		present []helperapi.File
		how     func(*Scope)
		want    []string
	}{
		"nothing is there":         {how: inspected, want: []string{"app inspect 3", "app stage 3"}},
		"something is there":       {present: all[:2], how: inspected, want: []string{"app inspect 3", "app stage 1"}},
		"all is there":             {present: all, how: inspected, want: []string{"app inspect 3"}},
		"it was inspected earlier": {how: func(*Scope) {}, want: []string{"app inspect 3", "app stage 3"}},
		"the files went meanwhile": {present: all, how: func(s *Scope) {
			inspected(s)
			loadFailed(s.jvm(), &transport.Error{Reason: v1alpha1.ReasonStagingIncomplete})
		}, want: []string{"app inspect 3", "app inspect 3"}},
		"nothing is granted, then it is": {how: func(s *Scope) {
			s.Granted = false
			inspected(s)
			s.Granted = true
		}, want: []string{"app inspect 0", "app inspect 3", "app stage 3"}},
	} {
		s := aScope(aProcess("app", 0), with(aProcess("app", 0), func(p *v1alpha1.JavaProcess) { p.PID, p.StartTime = 8, 12 }))
		var ran []string
		s.Helper = helperFunc(func(_ context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
			ran = append(ran, fmt.Sprintf("%s %s %d", in.Name, verb, len(request.Files)))
			return &helperapi.Report{Processes: []helperapi.Process{{Target: aTarget}, second}, Files: tc.present}, nil
		})
		tc.how(s)
		for i := range s.Status().Processes {
			if got := (Stage{}).Ensure(t.Context(), &JVM{s, &s.Status().Processes[i]}); got.Kind != statemachine.Done {
				t.Errorf("%s: %s %s", name, got.Reason, got.Message)
			}
		}
		if diff := cmp.Diff(tc.want, ran); diff != "" {
			t.Errorf("%s: what ran (-want +got):\n%s", name, diff)
		}
	}
}
