//go:build linux

package transport

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// TestConversation runs the operator's side, the script and the helper itself in one
// container with a JVM: the helper is sent once, and one exec serves all calls.
func TestConversation(t *testing.T) {
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "jmx-attach")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/jmx-attach")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	helper := NewBlob("jmx-attach-", content, "")
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	eachShell(t, func(t *testing.T, sh []string) {
		s := newContainer(t, 0o1777)
		s.sh, s.proc = sh, "/proc"
		in := Container{Namespace: "ns", Pod: "app-0", PodUID: "abc-1", Name: "app"}
		s.mountOfPod(in.PodUID)
		e := s.execInto(helper)
		jar := NewBlob("agent-", bytes.Repeat([]byte(sh[0]), 1<<16), ".jar")
		e.artifacts.Agent = jar
		for _, there := range []bool{false, true} {
			if _, err := os.Stat(s.home(helper.Name)); (err == nil) != there {
				t.Fatalf("the helper is there: %v", err)
			}
			session, err := e.Open(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if hello := session.Hello(); hello.Version != "devel" || hello.InitStartTime == 0 {
				t.Errorf("the hello is %+v", hello)
			}
			report, err := session.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
			if err != nil || len(report.Processes) != 1 || report.Processes[0].PID != app.PID {
				t.Fatalf("inspect: %+v, %v", report, err)
			}
			report, err = session.Run(t.Context(), helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{jar.File}}, jar)
			if err != nil || len(report.Files) != 1 {
				t.Errorf("stage: %+v, %v", report, err)
			}
			_, err = session.Run(t.Context(), helperapi.VerbLoad, helperapi.Request{})
			wantError(t, err, v1alpha1.ReasonBadRequest, "desired")
			session.Close()
			wantFree(t, e.limits)
		}
		in.PodUID = "abc-2"
		session, err := e.Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		_, err = session.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
		wantError(t, err, v1alpha1.ReasonWrongPod, "UID")
	})
	app.Unharmed()
}

// mountOfPod mounts a file as the kubelet does for a pod of that UID.
func (s *sandbox) mountOfPod(uid types.UID) {
	s.t.Helper()
	file, at := filepath.Join(s.tmp, "pods", string(uid), "etc-hosts"), filepath.Join(s.tmp, "hosts")
	s.write(file, "", 0o644)
	s.write(at, "", 0o644)
	if err := syscall.Mount(file, at, "", syscall.MS_BIND, ""); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := syscall.Unmount(at, 0); err != nil {
			s.t.Error(err)
		}
	})
}
