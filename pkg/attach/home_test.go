//go:build linux

package attach

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(Home)
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
	cleanHome(t)
	syscall.Umask(0o077)
	defer syscall.Umask(0o022)
	tool, config := []byte("#!/bin/sh\n"), []byte(anyMBean)
	files := []File{NewFile("jmx-attach-", tool, ""), NewFile("config-", config, ".yaml")}
	for range 2 { // the second time they are there, and their contents are read past
		report := do(t, VerbStage, Request{Files: files}, tool, config)
		wantReason(t, report, "")
		if len(report.Files) != 2 {
			t.Errorf("staged %v", report.Files)
		}
	}
	for name, want := range map[string]os.FileMode{
		"": 0o755, files[0].Name: 0o755, files[1].Name: 0o644,
	} {
		info, err := os.Stat(filepath.Join(Home, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s/%s: %v, %v, want %v", Home, name, info.Mode(), err, want)
		}
	}
	if got := names(t); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}

	// A file that was changed is no longer reported, and mended.
	if err := os.WriteFile(filepath.Join(Home, files[1].Name), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := do(t, VerbInspect, Request{Files: files}); len(report.Files) != 1 || report.Files[0] != files[0] {
		t.Errorf("inspect finds %v", report.Files)
	}
	wantReason(t, do(t, VerbStage, Request{Files: files}, tool, config), "")
	if report := do(t, VerbInspect, Request{Files: files}); len(report.Files) != 2 {
		t.Errorf("inspect finds %v", report.Files)
	}
}

// No partial file ever gets its final name.
func TestStageBroken(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 100_000)
	file := NewFile("agent-", content, ".jar")
	other := slices.Clone(content)
	other[99_999] = 'y'
	for name, test := range map[string]struct {
		file   File
		blob   []byte
		reason Reason
	}{
		"nothing":    {file, nil, ReasonStagingIncomplete},
		"cut":        {file, content[:99_999], ReasonStagingIncomplete},
		"changed":    {file, other, ReasonStagingIncomplete},
		"path":       {File{Name: "../" + file.Name, Size: file.Size, SHA256: file.SHA256}, content, ReasonBadRequest},
		"other name": {File{Name: "agent-000000000000.jar", Size: file.Size, SHA256: file.SHA256}, content, ReasonBadRequest},
		"desired":    {File{Name: "1-1.desired", Size: file.Size, SHA256: file.SHA256}, content, ReasonBadRequest},
		"no digest":  {File{Name: file.Name, Size: file.Size}, content, ReasonBadRequest},
		"large":      {File{Name: file.Name, Size: maxFileSize + 1, SHA256: file.SHA256}, content, ReasonBadRequest},
		"negative":   {File{Name: file.Name, Size: -1, SHA256: file.SHA256}, content, ReasonBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			cleanHome(t)
			wantReason(t, do(t, VerbStage, Request{Files: []File{test.file}}, test.blob), test.reason)
			if entries, _ := os.ReadDir(Home); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// Whoever may write to /tmp can prepare Home before we come.
func TestHostileHome(t *testing.T) {
	config := []byte(anyMBean)
	req := Request{Files: []File{NewFile("config-", config, ".yaml")}}
	for name, prepare := range map[string]func(t *testing.T) error{
		"link":           func(t *testing.T) error { return os.Symlink(t.TempDir(), Home) },
		"link inside":    func(t *testing.T) error { return os.Symlink("elsewhere", Home) },
		"file":           func(*testing.T) error { return os.WriteFile(Home, nil, 0o644) },
		"world-writable": func(*testing.T) error { return mkdir(0o777, 0) },
		"group-writable": func(*testing.T) error { return mkdir(0o775, 0) },
		"another user's": func(t *testing.T) error { jvmtest.NeedUsers(t); return mkdir(0o755, 1234) },
	} {
		t.Run(name, func(t *testing.T) {
			cleanHome(t)
			if err := os.MkdirAll("/tmp/elsewhere", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(t); err != nil {
				t.Fatal(err)
			}
			wantReason(t, do(t, VerbStage, req, config), ReasonHomeNotTrusted)
			if entries, _ := os.ReadDir("/tmp/elsewhere"); len(entries) > 0 {
				t.Errorf("written through the link: %v", entries)
			}
		})
	}
	t.Run("link for a file", func(t *testing.T) {
		cleanHome(t)
		if err := mkdir(0o755, 0); err != nil {
			t.Fatal(err)
		}
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(Home, req.Files[0].Name)); err != nil {
			t.Fatal(err)
		}
		if report := do(t, VerbInspect, req); len(report.Files) > 0 {
			t.Error("a link counts as staged")
		}
		wantReason(t, do(t, VerbStage, req, config), "") // replaces the link itself
		if info, err := os.Lstat(filepath.Join(Home, req.Files[0].Name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("staged as %v, %v", info, err)
		}
	})
}

func mkdir(mode os.FileMode, owner int) error {
	if err := os.Mkdir(Home, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(Home, mode); err != nil {
		return err
	}
	return os.Chown(Home, owner, owner)
}

// The JVM of one user never loads what another one may replace.
func TestHomeOfAnother(t *testing.T) {
	cleanHome(t)
	o := silentLoad
	o.User = nobody
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, o)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, freePort(t))
	for owner, reason := range map[int]Reason{1234: ReasonHomeNotTrusted, nobody: ""} {
		if err := os.Chown(Home, owner, owner); err != nil {
			t.Fatal(err)
		}
		wantReason(t, do(t, VerbLoad, Request{Target: target, Desired: desired}), reason)
	}
	root := jdk.Start(t, silentLoad)
	wantReason(t, do(t, VerbLoad, Request{Target: targetOf(t, root), Desired: desired}), ReasonHomeNotTrusted)
	app.Unharmed()
	root.Unharmed()
}

// Staging removes what processes that are gone left, and nothing else.
func TestSweep(t *testing.T) {
	cleanHome(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	alive := jvmtest.Run(t, exec.Command("sleep", "3600"))
	start, err := jvm.StartTime(alive.PID)
	if err != nil {
		t.Fatal(err)
	}
	keep := []string{
		fmt.Sprintf(".agent-0123456789ab.jar.%d-%d.tmp", alive.PID, start),
		fmt.Sprintf("%d-%d.desired", alive.PID, start),
		fmt.Sprintf("%d-%d.lock", alive.PID, start),
		"agent-0123456789ab.jar",
		"somebody's.desired",
	}
	gone := []string{
		fmt.Sprintf(".agent-0123456789ab.jar.%d-%d.tmp", alive.PID, start+1),
		fmt.Sprintf("%d-%d.desired", alive.PID, start+1),
		"4000000-1.lock",
	}
	for _, name := range slices.Concat(keep, gone) {
		if err := os.WriteFile(filepath.Join(Home, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantReason(t, do(t, VerbStage, Request{}), "")
	slices.Sort(keep)
	if got := names(t); !slices.Equal(got, keep) {
		t.Errorf("left are %v, want %v", got, keep)
	}
}

// Files that JVMs share stay until the last one is unloaded.
func TestUnloadKeepsShared(t *testing.T) {
	cleanHome(t)
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, silentLoad), jdk.Start(t, silentLoad)
	port := freePort(t)
	desired := stageAgent(t, nil, anyMBean, port)
	wantReason(t, do(t, VerbLoad, Request{Target: targetOf(t, one), Desired: desired}), "")
	second := *desired
	second.Port = freePort(t)
	wantReason(t, do(t, VerbLoad, Request{Target: targetOf(t, other), Desired: &second}), "")

	wantReason(t, do(t, VerbUnload, Request{Target: targetOf(t, one)}), "")
	if got := strings.Join(names(t), " "); !strings.Contains(got, desired.Agent) || strings.Count(got, ".desired") != 1 {
		t.Errorf("left are %s", got)
	}
	if scrape(port) != "" || scrape(second.Port) == "" {
		t.Error("unload stopped the wrong agent")
	}
	wantReason(t, do(t, VerbUnload, Request{Target: targetOf(t, other)}), "")
	if got := names(t); len(got) > 0 {
		t.Errorf("left are %v", got)
	}
	one.Unharmed()
	other.Unharmed()
}

func TestNoSpace(t *testing.T) {
	cleanHome(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("small", Home, "tmpfs", 0, "size=64k,mode=755"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(Home, 0); err != nil {
			t.Error(err)
		}
	}()
	content := make([]byte, 100_000)
	wantReason(t, do(t, VerbStage, Request{Files: []File{NewFile("agent-", content, ".jar")}}, content), ReasonNoSpace)
	if got := names(t); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestReadOnlyTmp(t *testing.T) {
	cleanHome(t)
	if err := syscall.Mount("ro", "/tmp", "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount("/tmp", 0); err != nil {
			t.Error(err)
		}
	}()
	wantReason(t, do(t, VerbStage, Request{}), ReasonTmpNotWritable)
}
