//go:build linux

package helper

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The mark has what the agent left out when it collected for a load: with its answer, or
// a moment after it.
func TestSkipped(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	const reserved = "rules:\n- {pattern: 'java.lang<type=Runtime><>Uptime', name: jvm_threads_current, type: GAUGE}\n"
	for _, step := range []struct {
		config string
		want   *helperapi.Skipped
	}{
		{reserved, &helperapi.Skipped{Count: 1, Domain: "java.lang", Reason: "ReservedName"}},
		{anyMBean, nil},
	} {
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, step.config, port)})
		wantReason(t, report, "")
		app.Await("the mark agrees with the scrape", func() bool {
			return cmp.Equal(step.want, wantMark(t, report, helperapi.AgentRunning, 1).Skipped) ||
				cmp.Equal(step.want, wantMark(t, do(t, helperapi.VerbStatus, helperapi.Request{Target: target}), helperapi.AgentRunning, 1).Skipped)
		})
	}
	app.Unharmed()
}
