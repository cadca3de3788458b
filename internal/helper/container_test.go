//go:build linux

package helper

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestOtherUsersJVM(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody
	app := jvmtest.Need(t, 25).Start(t, o)
	req := staged(t, app)
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	wantReason(t, do(t, helperapi.VerbUnload, req), "")
	app.Unharmed()
}

// From outside the container, PIDs and /tmp differ.
func TestContainer(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.Container = true
	app := jvmtest.Need(t, 17).Start(t, o)
	target := targetOf(t, app)
	port := jvmtest.FreePort(t)
	desired := stageAgent(t, target, anyMBean, port)
	if _, err := os.Lstat(helperapi.AgentDirectory); err == nil {
		t.Errorf("%s is in this /tmp, not in the container's", helperapi.AgentDirectory)
	}
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	if scrape(port) == "" {
		t.Error("no metrics")
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	app.Unharmed()
}

// inTestPod makes this sandbox look like a container of a pod, with mounts as of the
// kubelet.
func inTestPod(t *testing.T) (uid string) {
	t.Helper()
	uid = "0f3f5a6e-1111-4222-8333-444455556666"
	hosts := filepath.Join("/tmp/pods", uid, "etc-hosts")
	if err := os.MkdirAll(filepath.Dir(hosts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hosts, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mounted := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(mounted, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mount(t, hosts, mounted, "", syscall.MS_BIND, "")
	return uid
}

// Where a pod shares its PID namespace, or its node's, the helper only handles processes
// of its own container.
func TestOtherContainer(t *testing.T) {
	cleanDirectory(t)
	uid := inTestPod(t)
	o := silentLoad
	o.Container = true
	jdk := jvmtest.Need(t, 17)
	other, own := jdk.Start(t, o), jdk.Start(t, silentLoad)
	target := targetOf(t, other)
	desired := stageAgent(t, target, anyMBean, jvmtest.FreePort(t))

	report := do(t, helperapi.VerbInspect, helperapi.Request{PodUID: uid})
	wantReason(t, report, "")
	if len(report.Processes) != 1 || report.Processes[0].PID != own.PID {
		t.Errorf("found %+v", report.Processes)
	}
	req := helperapi.Request{PodUID: uid, Target: target, Desired: desired}
	for verb, want := range map[helperapi.Verb]helperapi.Reason{helperapi.VerbLoad: helperapi.ReasonProcessGone, helperapi.VerbStatus: helperapi.ReasonProcessGone, helperapi.VerbStage: helperapi.ReasonProcessGone, helperapi.VerbUnload: ""} {
		wantReason(t, do(t, verb, req), want)
	}
	for _, p := range do(t, helperapi.VerbInspect, helperapi.Request{}).Processes {
		if p.AgentJarOpen {
			t.Errorf("the agent is in %d", p.PID)
		}
	}
	stageAgent(t, nil, anyMBean, desired.Port)
	req.Target = targetOf(t, own)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	other.Unharmed()
	own.Unharmed()
}
