package workflows

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hack/release/on-main accepts a commit of main, and no other.
func TestOnMain(t *testing.T) {
	script, err := filepath.Abs("../release/on-main")
	if err != nil {
		t.Fatal(err)
	}
	upstream, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(dir string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, arguments...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	commits := func(message, tag string) {
		git(upstream, "commit", "--allow-empty", "--message", message)
		git(upstream, "tag", "--annotate", "--message", tag, tag)
	}
	git(upstream, "init", "--initial-branch", "main")
	commits("first", "v0.1.0")
	commits("second", "v0.2.0")
	git(upstream, "checkout", "-b", "mine", "v0.1.0")
	commits("not reviewed", "v0.3.0")
	git(upstream, "checkout", "main")
	git(filepath.Dir(clone), "clone", upstream, clone)
	for tag, accepted := range map[string]bool{"v0.1.0": true, "v0.2.0": true, "v0.3.0": false, "origin/mine": false, "main": true, "v9.9.9": false, "": false} {
		command := exec.CommandContext(t.Context(), script, tag)
		command.Dir = clone
		out, err := command.CombinedOutput()
		if (err == nil) != accepted {
			t.Errorf("%q: got %v, want accepted %t\n%s", tag, err, accepted, out)
		}
		if err != nil && len(out) == 0 {
			t.Errorf("%q: the refusal says nothing", tag)
		}
	}
}
