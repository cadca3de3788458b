//go:build linux

package helper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
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

// Anyone who can write to /tmp may create the agent directory first.
func TestUntrustedAgentDirectory(t *testing.T) {
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

// A user's JVM never loads files that another user may replace.
func TestHomeOfAnother(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, o)
	req := staged(t, app)
	for owner, reason := range map[int]helperapi.Reason{1234: helperapi.ReasonAgentDirectoryNotTrusted, nobody: ""} {
		if err := os.Chown(helperapi.AgentDirectory, owner, owner); err != nil {
			t.Fatal(err)
		}
		wantReason(t, do(t, helperapi.VerbLoad, req), reason)
	}
	root := jdk.Start(t, silentLoad)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, root), Desired: req.Desired}), helperapi.ReasonAgentDirectoryNotTrusted)
	app.Unharmed()
	root.Unharmed()
}

// To identify leftovers, all desired files must be visible.
func TestNames(t *testing.T) {
	cleanDirectory(t)
	tmp, err := os.OpenRoot("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	dir, err := directory.Open(tmp, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	const many = 1500
	for pid := range many {
		if err := dir.WriteDesired(fmt.Sprintf("%d-1%s", pid+1, directory.DesiredSuffix), pairs{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(dir.Names()); got != many {
		t.Errorf("%d of %d files are seen", got, many)
	}
}
