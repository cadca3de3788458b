//go:build linux

package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// image is a node agent's image on this machine: the real helper, and the jars beside it.
type image struct {
	program string
	jar     Blob
}

// newImage builds it.
func newImage(t *testing.T) image {
	t.Helper()
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	i := image{filepath.Join(dir, "jmx-attach"), NewBlob("agent-", bytes.Repeat([]byte("jar"), 1<<16), ".jar")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", i.program, "./cmd/jmx-attach")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "agent"), 0o755), os.WriteFile(filepath.Join(dir, "agent", "agent.jar"), i.jar.Content, 0o644)); err != nil {
		t.Fatal(err)
	}
	return i
}

// runs starts the main process of the node agent.
func (i image) runs(t *testing.T) {
	t.Helper()
	jvmtest.Run(t, exec.CommandContext(t.Context(), i.program, "node", "--allow-host-pid", "--allow-host-network", "--allow-host-ipc", "--allow-privileged", "--allow-capabilities=ALL", "--allow-host-paths=/")).AwaitOutput("sessions.\n")
}

// Stream implements Streams.
func (i image) Stream(ctx context.Context, _ Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c := exec.CommandContext(ctx, i.program, command[1:]...)
	c.Stdout, c.Stderr, c.WaitDelay = stdout, stderr, time.Minute
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(in, stdin) // the command may end without reading it
		in.Close()
	}()
	err = c.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// TestNodeConversation runs the operator's side, the node agent and its children with two JVMs
// in containers of this node: one exec serves both, each conversation reaches its own, and no
// jar is sent that is in the agent's image, or taken that is not.
func TestNodeConversation(t *testing.T) {
	i := newImage(t)
	i.runs(t)
	streams := &execs{Streams: i}
	n := NewNode(streams, agents{}, &Artifacts{}, effects.Direct, NewLimits(4, 4, 4))
	t.Cleanup(n.Close)
	jdk := jvmtest.Need(t, 17)
	var sessions []*Sessions
	var ids []Container
	for name := range 2 {
		pod := jvmtest.NeedPod(t)
		app := jdk.Start(t, jvmtest.Options{Container: true, Group: pod})
		in := Container{Namespace: "ns", Pod: string(rune('a' + name)), PodUID: types.UID(pod.UID), Name: "app", ID: "containerd://" + pod.ContainerID, Node: "node-1"}
		s := NewSessions(n)
		sessions, ids = append(sessions, s), append(ids, in)
		report, err := s.Run(t.Context(), in, helperapi.VerbInspect, helperapi.Request{})
		if err != nil || len(report.Processes) != 1 || report.Processes[0].PID != 1 || !report.FromNode {
			t.Fatalf("inspect: %+v, %v", report, err)
		}
		t.Cleanup(app.Unharmed)
		foreign := NewBlob("agent-", []byte("another jar"), ".jar")
		target := &report.Processes[0].Target
		_, err = s.Run(t.Context(), in, helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{foreign.File}}, foreign)
		wantError(t, err, v1alpha1.ReasonBadRequest, "none of the jars")
		config := NewBlob("config-", bytes.Repeat([]byte("# rules\n"), 1<<16), ".yaml") // more than a window
		files := []helperapi.File{i.jar.File, config.File}
		report, err = s.Run(t.Context(), in, helperapi.VerbStage, helperapi.Request{Target: target, Files: files}, config)
		if err != nil || !slices.Equal(report.Files, files) {
			t.Errorf("stage: %+v, %v", report, err)
		}
		_, err = s.Run(t.Context(), in, helperapi.VerbLoad, helperapi.Request{Target: target})
		wantError(t, err, v1alpha1.ReasonBadRequest, "desired")
	}
	streams.want(t, "node-1", 1, 1)
	for i, s := range sessions {
		other := ids[i]
		other.ID = ids[1-i].ID
		_, err := n.Open(t.Context(), other)
		wantError(t, err, v1alpha1.ReasonProcessGone, "No process of the container")
		s.Close()
	}
	wantFree(t, n.exec.limits)
}
