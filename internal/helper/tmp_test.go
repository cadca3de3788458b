//go:build linux

package helper

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Nothing is staged in or loaded from a /tmp in which another user could replace the
// agent directory.
func TestSharedTmp(t *testing.T) {
	jvmtest.NeedUsers(t)
	for name, test := range map[string]struct {
		mode      uint32
		tmpOwner  int
		tmpGroup  int
		beside    uint32 // user and group of another process; 0 for none
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

func TestReadOnlyTmp(t *testing.T) {
	cleanDirectory(t)
	mount(t, "ro", "/tmp", "tmpfs", syscall.MS_RDONLY, "")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{}), helperapi.ReasonTmpNotWritable)
}

// A container without /tmp has none of our files, but its JVMs are still reported.
func TestNoTmp(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "/proc", filepath.Join(root, "proc"), "", syscall.MS_BIND|syscall.MS_REC, "")
	inspected := make(chan helperapi.Report)
	go func() {
		runtime.LockOSThread() // permanent: the thread ends with its root
		if err := errors.Join(syscall.Unshare(syscall.CLONE_FS), syscall.Chroot(root)); err != nil {
			t.Error(err)
		}
		inspected <- Helper{}.Do(t.Context(), helperapi.VerbInspect, helperapi.Request{}, nil)
	}()
	report := <-inspected
	wantReason(t, report, "")
	if len(report.Processes) != 0 {
		t.Errorf("found %+v", report.Processes)
	}
}

// The refusal of a JVM that cannot use /tmp does not affect others in the container.
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
	p := processOf(t, targetOf(t, locked))
	if refusal, err := refusedTmp(helperapi.Request{}, p); err != nil || refusal == nil || refusal.Reason != helperapi.ReasonTmpNotWritable {
		t.Errorf("refused as %v, %v", refusal, err)
	}
	app.Unharmed()
	locked.Unharmed()
}
