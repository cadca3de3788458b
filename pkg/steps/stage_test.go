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

// Files that the container lacks are staged; staged files stay while the configuration is
// invalid or a change is not granted.
func TestStage(t *testing.T) {
	wanted := serving("app", 9400).Staged
	old := &v1alpha1.StagedFiles{ConfigSHA256: "old"}
	file := func(of string) helperapi.File { return blob(of).File }
	all := []helperapi.File{file("agent"), file("implementation"), file("config")}
	broken := func(s *scene) { s.Config.Problem = &Problem{Reason: v1alpha1.ReasonConfigNotYAML} }
	notGranted := func(s *scene) { s.Granted = false }
	for name, tc := range map[string]struct {
		present []helperapi.File
		staged  *v1alpha1.StagedFiles
		how     func(*scene)
		want    string
		ran     []string
		after   *v1alpha1.StagedFiles
	}{
		"no file is present":                                              {ran: []string{"app inspect", "app stage"}, after: wanted},
		"all files are present":                                           {present: all, ran: []string{"app inspect"}, after: wanted},
		"some files are present":                                          {present: all[:2], ran: []string{"app inspect", "app stage"}, after: wanted},
		"the staged files are outdated":                                   {present: all[:2], staged: old, ran: []string{"app inspect", "app stage"}, after: wanted},
		"the staged files are outdated, and nothing is granted":           {staged: old, how: notGranted, after: old},
		"the staged files are outdated, and the configuration is invalid": {staged: old, how: broken, after: old},
		"the configuration is invalid":                                    {how: broken, want: v1alpha1.ReasonConfigNotYAML},
		"the stock exporter is adopted":                                   {how: func(s *scene) { s.jvm().Process.Adopted = true }},
	} {
		s := aSituation(with(aProcess("app", 0), func(p *v1alpha1.JavaProcess) { p.Staged = tc.staged }))
		if tc.how != nil {
			tc.how(s)
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect": func() (*helperapi.Report, error) { return &helperapi.Report{Files: tc.present}, nil },
			"app stage":   sees(),
		}}
		s.Helper = helper
		if got := (Stage{s.Tools}).Ensure(t.Context(), s.jvm()); got.Reason != tc.want {
			t.Errorf("%s: got %s (%s), want %q", name, got.Reason, got.Message, tc.want)
		}
		if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
			t.Errorf("%s: helper operations (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.after, s.jvm().Process.Staged); diff != "" {
			t.Errorf("%s: staged files (-want +got):\n%s", name, diff)
		}
	}
}

// The files in a container are listed once per reconciliation: by the inspection that finds
// the JVM, for all of its JVMs.
func TestFilesAreLookedForOnce(t *testing.T) {
	all := []helperapi.File{blob("agent").File, blob("implementation").File, blob("config").File}
	second := helperapi.Process{Target: helperapi.Target{PID: 8, StartTime: 12}}
	inspected := func(s *scene) {
		s.Status().Processes = nil
		FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
	}
	for name, tc := range map[string]struct {
		present []helperapi.File
		how     func(*scene)
		want    []string
	}{
		"no file is present":         {how: inspected, want: []string{"app inspect 3", "app stage 3"}},
		"some files are present":     {present: all[:2], how: inspected, want: []string{"app inspect 3", "app stage 1"}},
		"all files are present":      {present: all, how: inspected, want: []string{"app inspect 3"}},
		"the inspection was earlier": {how: func(*scene) {}, want: []string{"app inspect 3", "app stage 3"}},
		"the files are removed meanwhile": {present: all, how: func(s *scene) {
			inspected(s)
			loadFailed(s.jvm(), &transport.Error{Reason: v1alpha1.ReasonStagingIncomplete})
		}, want: []string{"app inspect 3", "app inspect 3"}},
		"the change is granted later": {how: func(s *scene) {
			s.Granted = false
			inspected(s)
			s.Granted = true
		}, want: []string{"app inspect 0", "app inspect 3", "app stage 3"}},
	} {
		s := aSituation(aProcess("app", 0), with(aProcess("app", 0), func(p *v1alpha1.JavaProcess) { p.PID, p.StartTime = 8, 12 }))
		var ran []string
		s.Helper = helperFunc(func(_ context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
			ran = append(ran, fmt.Sprintf("%s %s %d", in.Name, verb, len(request.Files)))
			return &helperapi.Report{Processes: []helperapi.Process{{Target: aTarget}, second}, Files: tc.present}, nil
		})
		tc.how(s)
		for i := range s.Status().Processes {
			if got := (Stage{s.Tools}).Ensure(t.Context(), &JVM{s.Situation, &s.Status().Processes[i]}); got.Kind != statemachine.Done {
				t.Errorf("%s: got %s (%s), want Done", name, got.Reason, got.Message)
			}
		}
		if diff := cmp.Diff(tc.want, ran); diff != "" {
			t.Errorf("%s: helper operations (-want +got):\n%s", name, diff)
		}
	}
}
