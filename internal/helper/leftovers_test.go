//go:build linux

package helper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// leave creates empty files in the agent directory that were last modified some time ago.
func leave(t *testing.T, ago time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		name = filepath.Join(helperapi.AgentDirectory, name)
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		touched := time.Now().Add(-ago)
		if err := os.Chtimes(name, touched, touched); err != nil {
			t.Fatal(err)
		}
	}
}

// Staging removes leftovers of killed helpers and of exited processes, but nothing that
// another helper may be using: where containers share a /tmp, the processes of the other
// container are not visible.
func TestSweep(t *testing.T) {
	cleanDirectory(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	alive := jvmtest.Run(t, exec.Command("sleep", "3600"))
	start, err := jvm.StartTime(alive.PID)
	if err != nil {
		t.Fatal(err)
	}
	fresh := []string{
		".agent-0123456789ab.jar.4000000-1.tmp",
		".jmx-attach-0123456789ab.4000000",
		"4000000-1.desired",
		"4000000-1.lock",
	}
	old := []string{
		fmt.Sprintf("%d-%d.desired", alive.PID, start),
		fmt.Sprintf("%d-%d.lock", alive.PID, start),
		"4000000-3.lock", // locked
		"agent-0123456789ab.jar",
		"somebody's.desired",
	}
	gone := []string{
		".agent-0123456789ab.jar.4000000-2.tmp",
		".jmx-attach-0123456789ab.4000001",
		fmt.Sprintf("%d-%d.desired", alive.PID, start+1),
		"4000000-2.desired",
		"4000000-2.lock",
	}
	leave(t, directory.LeftoverAge-time.Minute, fresh...)
	leave(t, directory.LeftoverAge+time.Minute, slices.Concat(old, gone)...)
	held, err := os.Open(filepath.Join(helperapi.AgentDirectory, "4000000-3.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{}), "")
	if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(fresh, old))), names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// The files of an unloaded process are removed immediately.
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}), "")
	if got := names(t); slices.Contains(got, "4000000-1.desired") || slices.Contains(got, "4000000-1.lock") {
		t.Errorf("left behind: %v", got)
	}
}

// What cannot be removed of a process that has exited is reported; the rest is removed.
func TestLeftoverStays(t *testing.T) {
	cleanDirectory(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	leave(t, 0, "4000000-1.lock")
	stays := filepath.Join(helperapi.AgentDirectory, "4000000-1.desired")
	if err := os.MkdirAll(filepath.Join(stays, "full"), 0o755); err != nil { // root may remove anything else
		t.Fatal(err)
	}
	unload := func() helperapi.Report {
		return do(t, helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}})
	}
	if report := unload(); report.Error == nil || !strings.Contains(report.Error.Message, "not empty") {
		t.Errorf("got %v", report.Error)
	}
	if diff := cmp.Diff([]string{"4000000-1.desired"}, names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(stays); err != nil {
		t.Fatal(err)
	}
	wantReason(t, unload(), "")
}

// However many edits there are within ten minutes, and whether they are loaded or not, few
// files are left of them, and all that is in use.
func TestLeftoversAreLimited(t *testing.T) {
	cleanDirectory(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	used := []string{"exporter-0000000000aa.jar", "config-0000000000aa.yaml"}
	leave(t, time.Minute, used...)
	desired := pairs{"implementation": {helperapi.AgentDirectory + "/" + used[0]}, "config": {helperapi.AgentDirectory + "/" + used[1]}}
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-1.desired"), []byte(desired.Encode()), 0o644); err != nil {
		t.Fatal(err)
	}
	jar := "agent-0000000000aa.jar" // the oldest, to which no desired file refers
	leave(t, time.Hour, jar)
	want := append(used, jar, "4000000-1.desired")
	for edit := range 2 * directory.MaxSpares {
		name := fmt.Sprintf("config-%012x.yaml", edit)
		leave(t, time.Duration(edit+1)*time.Second, name)
		if edit < directory.MaxSpares-1 {
			want = append(want, name)
		}
	}
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{}), "")
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A load removes leftovers of edits and upgrades, but nothing that a JVM's desired file
// refers to or that may be for a future load.
func TestPrune(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	other := pairs{"implementation": {helperapi.AgentDirectory + "/exporter-0000000000aa.jar"}, "config": {helperapi.AgentDirectory + "/config-0000000000aa.yaml"}}
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-1.desired"), []byte(other.Encode()), 0o644); err != nil {
		t.Fatal(err)
	}
	leave(t, directory.LeftoverAge+time.Minute, "agent-0000000000bb.jar", "exporter-0000000000bb.jar", "config-0000000000bb.yaml", "jmx-attach-0000000000bb")
	kept := []string{"exporter-0000000000aa.jar", "config-0000000000aa.yaml", "somebody's"}
	leave(t, directory.LeftoverAge+time.Minute, kept...)
	leave(t, directory.LeftoverAge-time.Minute, "config-0000000000cc.yaml")
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
	want := append(kept, "config-0000000000cc.yaml", "4000000-1.desired", desired.Agent, desired.Implementation, desired.Config,
		fmt.Sprintf("%d-%d.desired", target.PID, target.StartTime), fmt.Sprintf("%d-%d.lock", target.PID, target.StartTime))
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// Staging a file again keeps it, and an unreadable desired file may refer to any
	// file.
	leave(t, directory.LeftoverAge+time.Minute, "config-0000000000cc.yaml")
	edited := stageAgent(t, nil, otherConfig, desired.Port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	old := time.Now().Add(-directory.LeftoverAge - time.Minute)
	if err := os.Chtimes(filepath.Join(helperapi.AgentDirectory, desired.Config), old, old); err != nil {
		t.Fatal(err)
	}
	again := stageAgent(t, nil, anyMBean, desired.Port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	if got := names(t); !slices.Contains(got, again.Config) || slices.Contains(got, "config-0000000000cc.yaml") {
		t.Errorf("left are %v", got)
	}
	leave(t, directory.LeftoverAge+time.Minute, "config-0000000000dd.yaml")
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-2.desired"), []byte("%zz"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	if got := names(t); !slices.Contains(got, "config-0000000000dd.yaml") {
		t.Errorf("left are %v", got)
	}
	app.Unharmed()
}
