//go:build linux

package helper

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	owner    = 1000 // the JVM's user
	intruder = 2000 // who is neither that one nor root
	theirs   = "/tmp/theirs"
)

// startOwners starts a JVM of a user who is not root.
func startOwners(t *testing.T) *jvmtest.Process {
	t.Helper()
	o := silentLoad
	o.User = owner
	return jvmtest.Need(t, 17).Start(t, o)
}

// cleanTheirs gives a test a directory for what an intruder keeps.
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

// plant makes a directory with files of a user in it.
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

// wantFiles makes sure that a directory has what was planted in it, and no more.
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

// Nothing is staged in or loaded from a /tmp in which somebody else may put another
// directory in the place of the agent directory.
func TestSharedTmp(t *testing.T) {
	jvmtest.NeedUsers(t)
	for name, test := range map[string]struct {
		mode      uint32
		tmpOwner  int
		tmpGroup  int
		beside    uint32 // runs as this user, and group; 0: nobody does
		inGroup   uint32
		elsewhere bool
		shared    bool
	}{
		"777, alone":                               {mode: 0o777},
		"777, beside another user":                 {mode: 0o777, beside: intruder, shared: true},
		"777, beside the same user":                {mode: 0o777, beside: owner},
		"777, mounted elsewhere":                   {mode: 0o777, elsewhere: true, shared: true},
		"1777, beside another user":                {mode: 0o1777, beside: intruder},
		"1777, mounted elsewhere":                  {mode: 0o1777, elsewhere: true},
		"1777, beside its owner":                   {mode: 0o1777, tmpOwner: intruder, beside: intruder, shared: true},
		"1777, of another user, mounted elsewhere": {mode: 0o1777, tmpOwner: intruder, elsewhere: true, shared: true},
		"1777, of the JVM's user":                  {mode: 0o1777, tmpOwner: owner, beside: intruder, elsewhere: true},
		"775, beside a member of its group":        {mode: 0o775, tmpGroup: owner, beside: intruder, inGroup: owner, shared: true},
		"775, beside another user":                 {mode: 0o775, tmpGroup: owner, beside: intruder},
		"775, mounted elsewhere":                   {mode: 0o775, tmpGroup: owner, elsewhere: true, shared: true},
		"755, of the JVM's user":                   {mode: 0o755, tmpOwner: owner, beside: intruder, elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := startOwners(t)
			if err := os.Chown("/tmp", test.tmpOwner, test.tmpGroup); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.Chown("/tmp", 0, 0); err != nil {
					t.Error(err)
				}
			}()
			jvmtest.ChmodTmp(t, test.mode)
			if test.beside != 0 {
				cmd := jvmtest.As(t, test.beside, exec.Command("sleep", "3600"))
				if test.inGroup != 0 {
					cmd.SysProcAttr.Credential.Groups = []uint32{test.inGroup}
				}
				jvmtest.Run(t, cmd)
			}
			jars, err := agentJars()
			if err != nil {
				t.Fatal(err)
			}
			file := helperapi.NewFile("agent-", jars[0], ".jar")
			target := targetOf(t, app)
			if test.shared {
				req := helperapi.Request{Target: target, TmpMountedElsewhere: test.elsewhere, Files: []helperapi.File{file}}
				inspected := do(t, helperapi.VerbInspect, helperapi.Request{TmpMountedElsewhere: test.elsewhere})
				if r := inspected.Processes[0].Refusal; r == nil || r.Reason != helperapi.ReasonTmpShared {
					t.Errorf("inspect says %v", r)
				}
				for _, in := range []*helperapi.Target{nil, target} {
					req.Target = in
					wantReason(t, do(t, helperapi.VerbStage, req, jars[0]), helperapi.ReasonTmpShared)
				}
				wantNoDirectory(t)
				desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t), func(req *helperapi.Request) { req.AllowSharedTmp = true })
				req.Desired = desired
				wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonTmpShared)
				if p := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes[0]; p.AgentJarOpen {
					t.Error("the agent was loaded")
				}
			}
			allow := func(req *helperapi.Request) {
				req.TmpMountedElsewhere, req.AllowSharedTmp = test.elsewhere, test.shared
			}
			desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t), allow)
			req := helperapi.Request{Target: target, Desired: desired}
			allow(&req)
			report := do(t, helperapi.VerbLoad, req)
			wantReason(t, report, "")
			wantMark(t, report, helperapi.AgentRunning, 1)
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target, TmpMountedElsewhere: test.elsewhere}), "")
			wantNoDirectory(t)
			app.Unharmed()
		})
	}
}

// Files of somebody else in our own directory are neither reported nor loaded, and
// what they ask for is not taken up.
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
			desired = stageAgent(t, nil, anyMBean, 0) // mends it
			if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: []helperapi.File{config}}); len(report.Files) != 1 {
				t.Errorf("mended, inspect finds %v", report.Files)
			}

			// A port that somebody else wrote into the desired file is not asked for.
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

// A jar of somebody else that the JVM has open in the place of ours is reported,
// and not a word is said to it.
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
			p, err := lookup(helperapi.Request{Target: target})
			if err != nil {
				t.Fatal(err)
			}
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

// wantForeign makes sure that no operation takes the jar that the JVM has open for
// ours, or says anything to it.
func wantForeign(t *testing.T, app *jvmtest.Process, words string) {
	t.Helper()
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	before := names(t)
	inspected := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes[0]
	if r := inspected.Refusal; r == nil || r.Reason != helperapi.ReasonForeignJar || !strings.Contains(r.Message, words) {
		t.Errorf("inspect says %v", r)
	}
	if inspected.AgentJarOpen || inspected.Mark != nil {
		t.Errorf("inspect takes it for ours: %+v", inspected)
	}
	for _, verb := range []helperapi.Verb{helperapi.VerbLoad, helperapi.VerbStatus, helperapi.VerbUnload} {
		wantReason(t, do(t, verb, helperapi.Request{Target: target, Desired: desired}), helperapi.ReasonForeignJar)
	}
	if diff := cmp.Diff(before, names(t)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	p, err := lookup(helperapi.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := p.Property(t.Context(), "jvmtest.agent"); err != nil || !strings.HasPrefix(value, "loads=1 ") {
		t.Errorf("the foreign agent says %q, %v, want one load", value, err)
	}
}

// A jar that is exchanged between our check and the JVM's load is seen to be foreign
// afterwards, at once and later, and gets no desired file.
func TestJarExchanged(t *testing.T) {
	jvmtest.NeedUsers(t)
	jar, err := os.ReadFile(jvmtest.AgentJar(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func(t *testing.T){
		"directory": func(t *testing.T) {
			if err := os.Rename(theirs, helperapi.AgentDirectory); err != nil {
				t.Fatal(err)
			}
		},
		"link": func(t *testing.T) {
			if err := os.Symlink(theirs, helperapi.AgentDirectory); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			cleanTheirs(t)
			const aside = "/tmp/aside"
			defer os.RemoveAll(aside)
			app := startOwners(t)
			target := targetOf(t, app)
			desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
			planted := map[string]string{desired.Agent: string(jar)}
			plant(t, theirs, intruder, planted)
			defer func(load func(jvm.Process, context.Context, string, string) error) { loadAgent = load }(loadAgent)
			loadAgent = func(p jvm.Process, ctx context.Context, jar, options string) error {
				if err := os.Rename(helperapi.AgentDirectory, aside); err != nil {
					t.Fatal(err)
				}
				place(t)
				return p.LoadAgent(ctx, jar, options)
			}
			report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
			wantReason(t, report, helperapi.ReasonForeignJar)
			if p := report.Processes[0]; p.AgentJarOpen || p.Mark != nil {
				t.Errorf("it is taken for ours: %+v", p)
			}
			wantFiles(t, helperapi.AgentDirectory, planted)
			if left, _ := filepath.Glob(filepath.Join(aside, "*.desired")); len(left) > 0 {
				t.Errorf("left is %v", left)
			}
			if name == "directory" { // what was opened through a link has no name of ours
				if err := os.RemoveAll(helperapi.AgentDirectory); err != nil {
					t.Fatal(err)
				}
				wantForeign(t, app, "belongs to user 2000")
			}
			app.Unharmed()
		})
	}
}

// The name has the beginning of the digest only: what was loaded is compared with
// all of it.
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

	p, err := lookup(helperapi.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	for sum, foreign := range map[string]bool{"": false, desired.AgentSHA256: false, almost: true} {
		a := agent{process: p, jar: desired.Agent, sha256: sum}
		if err := a.look(t.Context()); isForeign(err) != foreign || a.jarOpen == foreign {
			t.Errorf("with the digest %q: jar open %v, error %v", sum, a.jarOpen, err)
		}
	}
	app.Unharmed()
}

// Once a cleaner has removed the directory of a JVM that has our agent, the next one
// to make it may be anybody: his directory is left as it is.
func TestPlantedAfterCleaner(t *testing.T) {
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	app := startOwners(t)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
	if err := os.RemoveAll(helperapi.AgentDirectory); err != nil {
		t.Fatal(err)
	}
	planted := map[string]string{
		desired.Agent: "theirs", desired.Implementation: "theirs", desired.Config: anyMBean,
		fmt.Sprintf("%d-%d.desired", target.PID, target.StartTime): "state=stopped",
	}
	plant(t, helperapi.AgentDirectory, intruder, planted)
	req := helperapi.Request{Target: target, Desired: desired, Files: []helperapi.File{helperapi.NewFile("config-", []byte(anyMBean), ".yaml")}}
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

// A helper whose directory is exchanged all the time writes nothing into another
// user's, and takes nothing in there for ours.
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

// A directory of ours that is taken away the moment it is made has nobody's mode
// changed in its place.
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
		for exists(helperapi.AgentDirectory) || exists(theirs) { // they change places meanwhile
			for _, name := range []string{helperapi.AgentDirectory, theirs} {
				_ = os.RemoveAll(name) // it may have become another one
			}
		}
		if err := os.Symlink(filepath.Base(private), theirs); err != nil {
			t.Fatal(err)
		}
		do(t, helperapi.VerbStage, helperapi.Request{AllowSharedTmp: true}) // it may well be refused
		if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("round %d: the mode of somebody else's directory is %v, %v", round, info.Mode(), err)
		}
	}
}
