//go:build linux

package helper

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(helperapi.AgentDirectory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStage(t *testing.T) {
	cleanDirectory(t)
	syscall.Umask(0o077)
	defer syscall.Umask(0o022)
	tool, config := []byte("#!/bin/sh\n"), []byte(anyMBean)
	files := []helperapi.File{helperapi.NewFile("jmx-attach-", tool, ""), helperapi.NewFile("config-", config, ".yaml")}
	for range 2 { // the second time they are there, and their contents are read past
		report := do(t, helperapi.VerbStage, helperapi.Request{Files: files}, tool, config)
		wantReason(t, report, "")
		if len(report.Files) != 2 {
			t.Errorf("staged %v", report.Files)
		}
	}
	for name, want := range map[string]os.FileMode{
		"": 0o755, files[0].Name: 0o755, files[1].Name: 0o644,
	} {
		info, err := os.Stat(filepath.Join(helperapi.AgentDirectory, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s/%s: %v, %v, want %v", helperapi.AgentDirectory, name, info.Mode(), err, want)
		}
	}
	if got := names(t); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}

	// A file that was changed is no longer reported, and mended.
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, files[1].Name), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: files}); len(report.Files) != 1 || report.Files[0] != files[0] {
		t.Errorf("inspect finds %v", report.Files)
	}
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: files}, tool, config), "")
	if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: files}); len(report.Files) != 2 {
		t.Errorf("inspect finds %v", report.Files)
	}
}

// No partial file ever gets its final name.
func TestStageBroken(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 100_000)
	file := helperapi.NewFile("agent-", content, ".jar")
	other := slices.Clone(content)
	other[99_999] = 'y'
	for name, test := range map[string]struct {
		file   helperapi.File
		blob   []byte
		reason helperapi.Reason
	}{
		"nothing":    {file, nil, helperapi.ReasonStagingIncomplete},
		"cut":        {file, content[:99_999], helperapi.ReasonStagingIncomplete},
		"changed":    {file, other, helperapi.ReasonStagingIncomplete},
		"path":       {helperapi.File{Name: "../" + file.Name, Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"other name": {helperapi.File{Name: "agent-000000000000.jar", Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"desired":    {helperapi.File{Name: "1-1.desired", Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"no digest":  {helperapi.File{Name: file.Name, Size: file.Size}, content, helperapi.ReasonBadRequest},
		"large":      {helperapi.File{Name: file.Name, Size: maxFileSize + 1, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"negative":   {helperapi.File{Name: file.Name, Size: -1, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{test.file}}, test.blob), test.reason)
			if entries, _ := os.ReadDir(helperapi.AgentDirectory); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// Whoever may write to /tmp can prepare the agent directory before we come.
func TestHostileHome(t *testing.T) {
	config := []byte(anyMBean)
	req := helperapi.Request{Files: []helperapi.File{helperapi.NewFile("config-", config, ".yaml")}}
	for name, prepare := range map[string]func(t *testing.T) error{
		"link":           func(t *testing.T) error { return os.Symlink(t.TempDir(), helperapi.AgentDirectory) },
		"link inside":    func(*testing.T) error { return os.Symlink("elsewhere", helperapi.AgentDirectory) },
		"file":           func(*testing.T) error { return os.WriteFile(helperapi.AgentDirectory, nil, 0o644) },
		"world-writable": func(*testing.T) error { return mkdir(0o777, 0) },
		"group-writable": func(*testing.T) error { return mkdir(0o775, 0) },
		"another user's": func(t *testing.T) error { jvmtest.NeedUsers(t); return mkdir(0o755, 1234) },
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			if err := os.MkdirAll("/tmp/elsewhere", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(t); err != nil {
				t.Fatal(err)
			}
			wantReason(t, do(t, helperapi.VerbStage, req, config), helperapi.ReasonAgentDirectoryNotTrusted)
			if entries, _ := os.ReadDir("/tmp/elsewhere"); len(entries) > 0 {
				t.Errorf("written through the link: %v", entries)
			}
		})
	}
	t.Run("link for a file", func(t *testing.T) {
		cleanDirectory(t)
		if err := mkdir(0o755, 0); err != nil {
			t.Fatal(err)
		}
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(helperapi.AgentDirectory, req.Files[0].Name)); err != nil {
			t.Fatal(err)
		}
		if report := do(t, helperapi.VerbInspect, req); len(report.Files) > 0 {
			t.Error("a link counts as staged")
		}
		wantReason(t, do(t, helperapi.VerbStage, req, config), "") // replaces the link itself
		if info, err := os.Lstat(filepath.Join(helperapi.AgentDirectory, req.Files[0].Name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("staged as %v, %v", info, err)
		}
	})
}

func mkdir(mode os.FileMode, owner int) error {
	if err := os.Mkdir(helperapi.AgentDirectory, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(helperapi.AgentDirectory, mode); err != nil {
		return err
	}
	return os.Chown(helperapi.AgentDirectory, owner, owner)
}

// The JVM of one user never loads what another one may replace.
func TestHomeOfAnother(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, o)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	for owner, reason := range map[int]helperapi.Reason{1234: helperapi.ReasonAgentDirectoryNotTrusted, nobody: ""} {
		if err := os.Chown(helperapi.AgentDirectory, owner, owner); err != nil {
			t.Fatal(err)
		}
		wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), reason)
	}
	root := jdk.Start(t, silentLoad)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, root), Desired: desired}), helperapi.ReasonAgentDirectoryNotTrusted)
	app.Unharmed()
	root.Unharmed()
}

// leave makes empty files in the agent directory that were last touched a while ago.
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

// Staging removes what killed helpers and processes that are gone left, and
// nothing that another helper may be at work on: where containers share a /tmp,
// the processes of the other one are not seen.
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
		"4000000-3.lock", // held
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
	leave(t, leftoverAge-time.Minute, fresh...)
	leave(t, leftoverAge+time.Minute, slices.Concat(old, gone)...)
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

	// Those of a process that is taken out go at once.
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}), "")
	if got := names(t); slices.Contains(got, "4000000-1.desired") || slices.Contains(got, "4000000-1.lock") {
		t.Errorf("left behind: %v", got)
	}
}

// A load removes what edits and upgrades left, but nothing that a JVM was told
// of or that may be for a load to come.
func TestPrune(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	other := pairs{"implementation": {helperapi.AgentDirectory + "/exporter-0000000000aa.jar"}, "config": {helperapi.AgentDirectory + "/config-0000000000aa.yaml"}}
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-1.desired"), []byte(other.Encode()), 0o644); err != nil {
		t.Fatal(err)
	}
	leave(t, leftoverAge+time.Minute, "agent-0000000000bb.jar", "exporter-0000000000bb.jar", "config-0000000000bb.yaml", "jmx-attach-0000000000bb")
	kept := []string{"exporter-0000000000aa.jar", "config-0000000000aa.yaml", "somebody's"}
	leave(t, leftoverAge+time.Minute, kept...)
	leave(t, leftoverAge-time.Minute, "config-0000000000cc.yaml")
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
	want := append(kept, "config-0000000000cc.yaml", "4000000-1.desired", desired.Agent, desired.Implementation, desired.Config,
		fmt.Sprintf("%d-%d.desired", target.PID, target.StartTime), fmt.Sprintf("%d-%d.lock", target.PID, target.StartTime))
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// What is staged again is wanted again, and a desired file that cannot be read may name anything.
	leave(t, leftoverAge+time.Minute, "config-0000000000cc.yaml")
	edited := stageAgent(t, nil, otherConfig, desired.Port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	old := time.Now().Add(-leftoverAge - time.Minute)
	if err := os.Chtimes(filepath.Join(helperapi.AgentDirectory, desired.Config), old, old); err != nil {
		t.Fatal(err)
	}
	again := stageAgent(t, nil, anyMBean, desired.Port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	if got := names(t); !slices.Contains(got, again.Config) || slices.Contains(got, "config-0000000000cc.yaml") {
		t.Errorf("left are %v", got)
	}
	leave(t, leftoverAge+time.Minute, "config-0000000000dd.yaml")
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-2.desired"), []byte("%zz"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: edited}), "")
	if got := names(t); !slices.Contains(got, "config-0000000000dd.yaml") {
		t.Errorf("left are %v", got)
	}
	app.Unharmed()
}

// Files that JVMs share stay until the last one is unloaded.
func TestUnloadKeepsShared(t *testing.T) {
	cleanDirectory(t)
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, silentLoad), jdk.Start(t, silentLoad)
	port := jvmtest.FreePort(t)
	desired := stageAgent(t, nil, anyMBean, port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, one), Desired: desired}), "")
	second := *desired
	second.Port = jvmtest.FreePort(t)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, other), Desired: &second}), "")

	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, one)}), "")
	if got := strings.Join(names(t), " "); !strings.Contains(got, desired.Agent) || strings.Count(got, ".desired") != 1 {
		t.Errorf("left are %s", got)
	}
	if scrape(port) != "" || scrape(second.Port) == "" {
		t.Error("unload stopped the wrong agent")
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, other)}), "")
	wantNoDirectory(t)
	one.Unharmed()
	other.Unharmed()
}

// wantNoDirectory makes sure that nothing of ours is left, the agent directory included.
func wantNoDirectory(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(helperapi.AgentDirectory); !os.IsNotExist(err) {
		t.Errorf("left is %s with %v, %v", helperapi.AgentDirectory, left, err)
	}
}

// What is not ours to remove keeps the agent directory, and somebody else's directory in its
// place stays.
func TestDirectoryStays(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	for _, name := range []string{"somebody's", "4000000-1.desired", "4000000-1.lock", ".config-0123456789ab.yaml.1-1.tmp"} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			stageAgent(t, nil, anyMBean, 0)
			leave(t, 0, name)
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, app)}), "")
			if !slices.Contains(names(t), name) {
				t.Errorf("left are %v", names(t))
			}
		})
	}
	app.Unharmed()
}

// A helper that stages while another one removes what is left does not notice.
func TestStageBesideUnload(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	target := targetOf(t, app)
	config := []byte(anyMBean)
	req := helperapi.Request{Files: []helperapi.File{helperapi.NewFile("config-", config, ".yaml")}}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if report := do(t, helperapi.VerbUnload, helperapi.Request{Target: target}); report.Error != nil {
					t.Error(report.Error)
				}
			}
		}
	})
	for range 1000 {
		wantReason(t, do(t, helperapi.VerbStage, req, config), "")
	}
	close(done)
	wg.Wait()
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	wantNoDirectory(t)
	app.Unharmed()
}

func TestNoSpace(t *testing.T) {
	cleanDirectory(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("small", helperapi.AgentDirectory, "tmpfs", 0, "size=64k,mode=755"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(helperapi.AgentDirectory, 0); err != nil {
			t.Error(err)
		}
	}()
	content := make([]byte, 100_000)
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{helperapi.NewFile("agent-", content, ".jar")}}, content), helperapi.ReasonNoSpace)
	if got := names(t); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestReadOnlyTmp(t *testing.T) {
	cleanDirectory(t)
	if err := syscall.Mount("ro", "/tmp", "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount("/tmp", 0); err != nil {
			t.Error(err)
		}
	}()
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{}), helperapi.ReasonTmpNotWritable)
}

// A JVM that cannot use /tmp is refused by itself: what is beside it is seen all the
// same.
func TestTmpOfOneJVM(t *testing.T) {
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	jdk := jvmtest.Need(t, 17)
	app, locked := jdk.Start(t, jvmtest.Options{}), jdk.Start(t, jvmtest.Options{User: nobody})
	jvmtest.ChmodTmp(t, 0o700)
	report := do(t, helperapi.VerbInspect, helperapi.Request{})
	wantReason(t, report, "")
	got := map[int]helperapi.Reason{}
	for _, p := range report.Processes {
		got[p.PID] = ""
		if p.Refusal != nil {
			got[p.PID] = p.Refusal.Reason
		}
	}
	if want := map[int]helperapi.Reason{app.PID: "", locked.PID: helperapi.ReasonTmpNotWritable}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p, err := lookup(helperapi.Request{Target: targetOf(t, locked)})
	if err != nil {
		t.Fatal(err)
	}
	if refusal, err := refusedTmp(helperapi.Request{}, p); err != nil || refusal == nil || refusal.Reason != helperapi.ReasonTmpNotWritable {
		t.Errorf("refused as %v, %v", refusal, err)
	}
	app.Unharmed()
	locked.Unharmed()
}

// Whoever decides what is a leftover must see every desired file.
func TestNames(t *testing.T) {
	cleanDirectory(t)
	tmp, err := os.OpenRoot("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	dir, err := openDirectory(tmp, true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	const many = 1500
	for pid := range many {
		if err := dir.writePairs(fmt.Sprintf("%d-1%s", pid+1, desiredSuffix), pairs{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(dir.names()); got != many {
		t.Errorf("%d of %d files are seen", got, many)
	}
}
