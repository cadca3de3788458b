//go:build linux

package helper

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A helper that is killed during the trial leaves the agent at it for three seconds at most:
// what the operator does next waits for that, and is not refused.
func TestCheckKilled(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, req helperapi.Request) helperapi.Report{
		"load":   func(t *testing.T, req helperapi.Request) helperapi.Report { return do(t, helperapi.VerbLoad, req) },
		"unload": func(t *testing.T, req helperapi.Request) helperapi.Report { return do(t, helperapi.VerbUnload, req) },
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := jvmtest.Need(t, 17).Start(t, silentLoad)
			app.Tell("slow")
			req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, servedConfig, jvmtest.FreePort(t))}
			wantReason(t, do(t, helperapi.VerbLoad, req), "")
			slow := []byte("includeObjectNames: ['app:*']\nrules: [{pattern: '.*'}]\n")
			file := helperapi.NewFile("config-", slow, ".yaml")
			req.Files, req.Candidate = []helperapi.File{file}, &file
			wantReason(t, do(t, helperapi.VerbStage, req, slow), "")
			killed := checkInProcess(t, req)
			for end := time.Now().Add(time.Minute); !strings.HasPrefix(impatient(t, req.Desired.Port), "A configuration is being judged"); {
				if time.Now().After(end) {
					t.Fatal("the trial does not begin")
				}
			}
			if err := killed.Kill(); err != nil {
				t.Fatal(err)
			}
			if asked, _ := desiredOf(t, req.Target); !asked.Has(candidate) {
				t.Fatalf("the killed helper has left %v", asked)
			}
			report := next(t, req)
			wantReason(t, report, "")
			if mark := report.Processes[0].Mark; mark.Judgement != nil || (scrape(req.Desired.Port) != "") != (name == "load") {
				t.Errorf("the mark is %+v", mark)
			}
			app.Unharmed()
		})
	}
}

// checkCommand is the first argument of a process that checks.
const checkCommand = "check-of-test"

// checkInProcess has another process, which can be killed, perform a check.
func checkInProcess(t *testing.T, req helperapi.Request) *os.Process {
	t.Helper()
	encoded, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", checkCommand, string(encoded))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return cmd.Process
}

// checkAsCommand is the process of checkInProcess.
func checkAsCommand(encoded string) int {
	var req helperapi.Request
	if err := json.Unmarshal([]byte(encoded), &req); err != nil {
		return 1
	}
	Helper{Version: "test"}.Do(context.Background(), helperapi.VerbCheck, req, nil)
	return 0
}

// impatient returns what a port answers to a scraper that waits for 50 ms.
func impatient(t *testing.T, port int32) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "0.05")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
