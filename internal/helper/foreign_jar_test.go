//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A foreign jar that the JVM has open under our agent's name is reported and never
// reconfigured.
func TestForeignJar(t *testing.T) {
	jvmtest.NeedUsers(t)
	jar, err := os.ReadFile(jvmtest.AgentJar(t))
	if err != nil {
		t.Fatal(err)
	}
	right := helperapi.NewFile("agent-", jar, ".jar").Name
	for name, test := range map[string]struct {
		user  int
		mode  fs.FileMode
		file  string
		words string
	}{
		"another user's":    {intruder, 0o644, right, "belongs to user 2000"},
		"writable by all":   {0, 0o666, right, "others may write to it"},
		"by its group":      {owner, 0o664, right, "others may write to it"},
		"other content":     {0, 0o644, "agent-0123456789ab.jar", "its content"},
		"without a digest":  {0, 0o644, "agent-new.jar", "its content"},
		"user's, and gone":  {intruder, 0o644, right, "belongs to user 2000"},
		"other's, and gone": {0, 0o644, "agent-0123456789ab.jar", "its content"},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := startOwners(t)
			target := targetOf(t, app)
			p := processOf(t, target)
			plant(t, helperapi.AgentDirectory, 0, map[string]string{test.file: string(jar)})
			give(t, test.user, filepath.Join(helperapi.AgentDirectory, test.file))
			chmod(t, filepath.Join(helperapi.AgentDirectory, test.file), test.mode)
			if err := p.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := p.LoadAgent(t.Context(), filepath.Join(helperapi.AgentDirectory, test.file), "theirs"); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "gone") {
				if err := os.Remove(filepath.Join(helperapi.AgentDirectory, test.file)); err != nil {
					t.Fatal(err)
				}
			}
			wantForeign(t, app, test.words)
			app.Unharmed()
		})
	}
}

// wantForeign checks that every operation rejects the jar that the JVM has open, and that
// none reconfigures it.
func wantForeign(t *testing.T, app *jvmtest.Process, words string) {
	t.Helper()
	req := staged(t, app)
	before := names(t)
	inspected := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes[0]
	if r := inspected.Refusal; r == nil || r.Reason != helperapi.ReasonForeignJar || !strings.Contains(r.Message, words) {
		t.Errorf("inspect says %v", r)
	}
	if inspected.AgentJarOpen || inspected.Mark != nil {
		t.Errorf("inspect takes it for ours: %+v", inspected)
	}
	for _, verb := range []helperapi.Verb{helperapi.VerbLoad, helperapi.VerbStatus, helperapi.VerbUnload} {
		wantReason(t, do(t, verb, req), helperapi.ReasonForeignJar)
	}
	if diff := cmp.Diff(before, names(t)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	p := processOf(t, req.Target)
	if value, _, err := p.Property(t.Context(), "jvmtest.agent"); err != nil || !strings.HasPrefix(value, "loads=1 ") {
		t.Errorf("the foreign agent says %q, %v, want one load", value, err)
	}
}

// If the jar is replaced between our check and the JVM's load, it is recognized as
// foreign immediately and later, and gets no desired file.
func TestJarExchanged(t *testing.T) {
	jvmtest.NeedUsers(t)
	jar, err := os.ReadFile(jvmtest.AgentJar(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func() error{
		"directory": func() error { return os.Rename(theirs, helperapi.AgentDirectory) },
		"link":      func() error { return os.Symlink(theirs, helperapi.AgentDirectory) },
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			cleanTheirs(t)
			const aside = "/tmp/aside"
			defer os.RemoveAll(aside)
			app := startOwners(t)
			req := staged(t, app)
			planted := map[string]string{req.Desired.Agent: string(jar)}
			plant(t, theirs, intruder, planted)
			set(t, &loadAgent, func(p jvm.Process, ctx context.Context, jar, options string) error {
				if err := errors.Join(os.Rename(helperapi.AgentDirectory, aside), place()); err != nil {
					t.Fatal(err)
				}
				return p.LoadAgent(ctx, jar, options)
			})
			report := do(t, helperapi.VerbLoad, req)
			wantReason(t, report, helperapi.ReasonForeignJar)
			if p := report.Processes[0]; p.AgentJarOpen || p.Mark != nil {
				t.Errorf("it is taken for ours: %+v", p)
			}
			wantFiles(t, helperapi.AgentDirectory, planted)
			if left, _ := filepath.Glob(filepath.Join(aside, "*.desired")); len(left) > 0 {
				t.Errorf("left is %v", left)
			}
			if name == "directory" { // a file opened through the link has a different path
				if err := os.RemoveAll(helperapi.AgentDirectory); err != nil {
					t.Fatal(err)
				}
				wantForeign(t, app, "belongs to user 2000")
			}
			app.Unharmed()
		})
	}
}

// The name contains only a digest prefix, so the loaded jar is compared with the whole
// digest.
func TestWholeDigest(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	almost := desired.AgentSHA256[:helperapi.ShortDigest] + strings.Repeat("0", 64-helperapi.ShortDigest)
	wrong := *desired
	wrong.AgentSHA256 = almost
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: &wrong}), helperapi.ReasonStagingIncomplete)
	wrong.AgentSHA256 = "almost"
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: &wrong}), helperapi.ReasonBadRequest)
	wrong.AgentSHA256 = "" // an older operator
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: &wrong}), "")
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")

	p := processOf(t, target)
	for sum, foreign := range map[string]bool{"": false, desired.AgentSHA256: false, almost: true} {
		a := agentIn{process: p, jar: desired.Agent, sha256: sum}
		if err := a.look(t.Context()); isForeign(err) != foreign || a.jarOpen == foreign {
			t.Errorf("with the digest %q: jar open %v, error %v", sum, a.jarOpen, err)
		}
	}
	app.Unharmed()
}
