//go:build linux

package helper

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	owner    = 1000 // the JVM's user
	intruder = 2000 // neither the JVM's user nor root
	theirs   = "/tmp/theirs"
)

// startOwners starts a JVM of a user other than root.
func startOwners(t *testing.T) *jvmtest.Process {
	t.Helper()
	o := silentLoad
	o.User = owner
	return jvmtest.Need(t, 17).Start(t, o)
}

// cleanTheirs creates a directory for an intruder's files for the test.
func cleanTheirs(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(theirs); err != nil {
			t.Error(err)
		}
	})
}

// plant creates a directory with files of a user.
func plant(t *testing.T, dir string, user int, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	give(t, user, dir)
	for name := range files {
		give(t, user, filepath.Join(dir, name))
	}
}

func give(t *testing.T, user int, name string) {
	t.Helper()
	if err := os.Chown(name, user, user); err != nil {
		t.Fatal(err)
	}
}

// wantFiles checks that a directory contains exactly the planted files.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in %s (-want +got):\n%s", dir, diff)
	}
}

// Foreign files in our own directory are neither reported nor loaded, and requests in
// them are ignored.
func TestFilesOfOthers(t *testing.T) {
	jvmtest.NeedUsers(t)
	for name, spoil := range map[string]func(*testing.T, string){
		"another user's":  func(t *testing.T, file string) { give(t, intruder, file) },
		"writable by all": func(t *testing.T, file string) { chmod(t, file, 0o666) },
		"by its group":    func(t *testing.T, file string) { chmod(t, file, 0o664) },
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := startOwners(t)
			target := targetOf(t, app)
			desired := stageAgent(t, nil, anyMBean, 0)
			config := helperapi.File{Name: desired.Config, Size: int64(len(anyMBean)), SHA256: desired.ConfigSHA256}
			for _, file := range []string{desired.Agent, desired.Implementation, desired.Config} {
				stageAgent(t, nil, anyMBean, 0)
				spoil(t, filepath.Join(helperapi.AgentDirectory, file))
				wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), helperapi.ReasonAgentDirectoryNotTrusted)
			}
			if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: []helperapi.File{config}}); len(report.Files) > 0 {
				t.Errorf("inspect finds %v", report.Files)
			}
			desired = stageAgent(t, nil, anyMBean, 0) // replaces the foreign files
			if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: []helperapi.File{config}}); len(report.Files) != 1 {
				t.Errorf("mended, inspect finds %v", report.Files)
			}

			// A port that another user wrote to the desired file is ignored.
			file := filepath.Join(helperapi.AgentDirectory, fmt.Sprintf("%d-%d.desired", target.PID, target.StartTime))
			if err := os.WriteFile(file, []byte("identity=bad&port=1"), 0o644); err != nil {
				t.Fatal(err)
			}
			spoil(t, file)
			report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
			wantReason(t, report, "")
			if who := identity(wantMark(t, report, helperapi.AgentRunning, 1).Port); who != "" {
				t.Errorf("it calls itself %q", who)
			}
			app.Unharmed()
		})
	}
}

func chmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// After a cleaner removed the agent directory of a JVM with our agent, any user may
// create it: that user's directory is left unchanged.
func TestPlantedAfterCleaner(t *testing.T) {
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	app := startOwners(t)
	req := staged(t, app)
	target, desired := req.Target, req.Desired
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	if err := os.RemoveAll(helperapi.AgentDirectory); err != nil {
		t.Fatal(err)
	}
	planted := map[string]string{
		desired.Agent: "theirs", desired.Implementation: "theirs", desired.Config: anyMBean,
		fmt.Sprintf("%d-%d.desired", target.PID, target.StartTime): "state=stopped",
	}
	plant(t, helperapi.AgentDirectory, intruder, planted)
	req.Files = []helperapi.File{helperapi.NewFile("config-", []byte(anyMBean), ".yaml")}
	for _, verb := range []helperapi.Verb{helperapi.VerbInspect, helperapi.VerbStage, helperapi.VerbLoad, helperapi.VerbUnload} {
		report := do(t, verb, req, []byte(anyMBean))
		wantReason(t, report, helperapi.ReasonAgentDirectoryNotTrusted)
		if len(report.Files) > 0 {
			t.Errorf("%s reports %v", verb, report.Files)
		}
	}
	wantFiles(t, helperapi.AgentDirectory, planted)
	app.Unharmed()
}

// A helper whose directory is swapped continually writes nothing to another user's
// directory and uses no file in it.
func TestHelperInARace(t *testing.T) {
	const rounds = 1000
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	cleanTheirs(t)
	jvmtest.ChmodTmp(t, 0o777)
	ours, other := []byte(anyMBean), []byte(otherConfig)
	stage := helperapi.Request{AllowSharedTmp: true, Files: []helperapi.File{helperapi.NewFile("config-", ours, ".yaml")}}
	wantReason(t, do(t, helperapi.VerbStage, stage, ours), "")
	planted := map[string]string{helperapi.NewFile("config-", other, ".yaml").Name: otherConfig}
	plant(t, theirs, intruder, planted)
	race := jvmtest.Exchange(t, intruder, helperapi.AgentDirectory, theirs)
	look := helperapi.Request{Files: []helperapi.File{helperapi.NewFile("config-", other, ".yaml")}}
	ended := map[helperapi.Reason]int{}
	deadline := time.Now().Add(3 * time.Minute)
	for round := 0; round < rounds || ended[""] == 0 || ended[helperapi.ReasonAgentDirectoryNotTrusted] == 0; round++ {
		if time.Now().After(deadline) {
			t.Fatalf("after %d rounds it has ended with %v: there was no race", round, ended)
		}
		for _, report := range []helperapi.Report{do(t, helperapi.VerbStage, stage, ours), do(t, helperapi.VerbInspect, look)} {
			reason := helperapi.Reason("")
			if report.Error != nil {
				reason = report.Error.Reason
			}
			if ended[reason]++; reason != "" && reason != helperapi.ReasonAgentDirectoryNotTrusted {
				t.Fatalf("round %d: %v", round, report.Error)
			}
			if slices.ContainsFunc(report.Files, func(f helperapi.File) bool { return f == look.Files[0] }) {
				t.Fatalf("round %d: theirs is taken for ours", round)
			}
		}
	}
	race.Stop()
	for _, dir := range []string{helperapi.AgentDirectory, theirs} {
		if _, err := os.Stat(filepath.Join(dir, look.Files[0].Name)); err == nil {
			wantFiles(t, dir, planted)
		}
	}
	t.Logf("ended with %v", ended)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// If the agent directory is removed right after its creation, no other directory's mode
// is changed in its place.
func TestStageChangesNoMode(t *testing.T) {
	const (
		rounds  = 1000
		private = "/tmp/private"
	)
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	cleanTheirs(t)
	jvmtest.ChmodTmp(t, 0o777)
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(private)
	jvmtest.Exchange(t, intruder, helperapi.AgentDirectory, theirs)
	for round := range rounds {
		for exists(helperapi.AgentDirectory) || exists(theirs) { // they are being swapped
			for _, name := range []string{helperapi.AgentDirectory, theirs} {
				_ = os.RemoveAll(name) // it may have been swapped
			}
		}
		if err := os.Symlink(filepath.Base(private), theirs); err != nil {
			t.Fatal(err)
		}
		do(t, helperapi.VerbStage, helperapi.Request{AllowSharedTmp: true}) // it may be refused
		if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("round %d: the mode of somebody else's directory is %v, %v", round, info.Mode(), err)
		}
	}
}
