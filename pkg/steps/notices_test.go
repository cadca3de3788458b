package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A load records what the agent reports; the next one replaces it, and an unload ends it.
func TestLoadRecordsNotices(t *testing.T) {
	mark := &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400, ConfigSHA256: blob("config").SHA256, ImplementationSHA256: blob("implementation").SHA256}
	mark.Skipped = &helperapi.Skipped{Count: 2, Domain: "a", Reason: "InvalidValue"}
	s := aSituation(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.ConfigSHA256 = "" }))
	s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app load": sees(helperapi.Process{Mark: mark}), "app unload": sees()}}
	j := s.jvm()
	Load{s.Tools}.Ensure(t.Context(), j)
	want := &v1alpha1.ScrapeNotices{Incomplete: &v1alpha1.IncompleteScrape{Reason: "InvalidValue", Domain: "a"}}
	if diff := cmp.Diff(want, j.Process.Notices); diff != "" {
		t.Errorf("after a load (-want +got):\n%s", diff)
	}
	mark.Skipped, j.Process.ConfigSHA256 = nil, "old"
	Load{s.Tools}.Ensure(t.Context(), j)
	if j.Process.Notices != nil {
		t.Errorf("after the next load: %+v", j.Process.Notices)
	}
	j.Process.Notices = want
	if (Load{s.Tools}).Undo(t.Context(), j); j.Process.Notices != nil {
		t.Errorf("after an unload: %+v", j.Process.Notices)
	}
}
