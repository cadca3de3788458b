//go:build linux

package helper

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A JVM that cannot start the attach listener's thread exits. It is refused before it is
// signaled, whether or not the limit is visible.
func TestFewTasks(t *testing.T) {
	for name, hidden := range map[string]bool{"visible": false, "of the pod, which is not visible": true} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			group := jvmtest.NeedTaskGroup(t)
			app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Group: group})
			req := staged(t, app)
			if hidden {
				set(t, &trialProgram, group.Hide())
			}
			group.Leave(0)
			report := do(t, helperapi.VerbLoad, req)
			app.Unharmed()
			wantReason(t, report, helperapi.ReasonInsufficientThreads)
			if _, err := os.Stat(fmt.Sprintf("/tmp/.java_pid%d", app.PID)); err == nil {
				t.Error("the JVM was signaled")
			}
			for _, name := range names(t) {
				if strings.HasSuffix(name, directory.DesiredSuffix) {
					t.Errorf("%s was written", name)
				}
			}
			group.Leave(64)
			wantReason(t, do(t, helperapi.VerbLoad, req), "")

			// An unload has to open the socket again, if something has removed it.
			if err := os.Remove(fmt.Sprintf("/tmp/.java_pid%d", app.PID)); err != nil {
				t.Fatal(err)
			}
			group.Leave(0)
			report = do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target})
			app.Unharmed()
			wantReason(t, report, helperapi.ReasonInsufficientThreads)
			group.Leave(64)
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
			app.Unharmed()
		})
	}
}
