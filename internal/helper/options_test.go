//go:build linux

package helper

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Options that hide what the helper reads of a JVM do not prevent an agent.
func TestOptions(t *testing.T) {
	for name, option := range map[string]string{
		"no performance counters":            "-XX:-UsePerfData",
		"performance counters in its memory": "-XX:+PerfDisableSharedMem",
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{option}})
			req := staged(t, app)
			report := do(t, helperapi.VerbLoad, req)
			wantReason(t, report, "")
			wantMark(t, report, helperapi.AgentRunning, 1)
			if !strings.Contains(scrape(req.Desired.Port), "jvm_") {
				t.Error("no metrics")
			}
			app.Unharmed()
		})
	}
}
