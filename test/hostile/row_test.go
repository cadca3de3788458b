//go:build linux

package hostile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const (
	exec_ = v1alpha1.TransportExec
	door  = v1alpha1.TransportEphemeralContainer
)

// row is one hostile container, and what the operator says of it.
type row struct {
	// by are the transports; both if empty.
	by []v1alpha1.Transport
	// program is a shell script: what answers in the container in the place of its
	// shell, or of the helper in the door. A process of the target's user may do that to
	// a door, by ptrace or /proc/<pid>/fd. Empty for the real ones.
	program string
	// tmp are mount options of its /tmp.
	tmp string
	// given prepares the container, and may change what is asked for.
	given func(c *container, call *call)
	call  call
	// reason is what the operator says of it; empty where it gets what it asked for. Where
	// the transports differ, it is that of the door which is in doorReason.
	reason, doorReason string
	// check looks at the report and at the error.
	check func(t *testing.T, report *helperapi.Report, err error)
	// hangs says that a tool of the container's never ends, so that the script that
	// called it does not either.
	hangs bool
	// leaves are patterns of the names in its agent directory afterwards, beside the helper's.
	leaves []string
}

// call is what is asked of the helper.
type call struct {
	verb    helperapi.Verb
	request helperapi.Request
	blobs   []transport.Blob
}

const (
	// maxTaken bounds what the operator's side takes of one session, and so what it can
	// keep: its bounds are 256 KiB for a line and for standard error.
	maxTaken = 1 << 20
	// rowTimeout ends a row that nothing else ends. What the operator allows to one call is
	// less.
	rowTimeout = 3 * time.Minute
)

// test runs rows, each by its transports, beside each other.
func test(t *testing.T, rows map[string]row) {
	t.Helper()
	jvmtest.NeedUsers(t)
	neighbor := newContainer(t, "size=16m")
	t.Run("rows", func(t *testing.T) {
		for name, r := range rows {
			by := r.by
			if len(by) == 0 {
				by = []v1alpha1.Transport{exec_, door}
			}
			for _, way := range by {
				t.Run(name+"/"+string(way), func(t *testing.T) {
					t.Parallel()
					r.run(t, way, neighbor)
				})
			}
		}
	})
	eventually(t, "no goroutine of a session is left", func() bool {
		stacks := make([]byte, 1<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "pkg/transport.")
	})
}

func (r row) run(t *testing.T, way v1alpha1.Transport, neighbor *container) {
	c := newContainer(t, "size=16m"+r.tmp)
	if r.program != "" {
		c.path, c.program = fakes+":"+tools, fakes+"/sh"
		c.write(c.program, "#!/bin/bash\n"+r.program, 0o755)
	} else if way == door {
		c.openDoor()
	}
	call := r.call
	if call.verb == "" {
		call.verb = helperapi.VerbInspect
	}
	if r.given != nil {
		r.given(c, &call)
	}
	o := newOperator(t, c, neighbor)
	ctx, cancel := context.WithTimeout(t.Context(), rowTimeout)
	defer cancel()

	beside := make(chan error, 1)
	go func() { beside <- o.besides(ctx) }()
	report, err := o.asks(ctx, way, call)
	if err := <-beside; err != nil {
		t.Errorf("another pod: %v", err)
	}

	want := r.reason
	if way == door && r.doorReason != "" {
		want = r.doorReason
	}
	wantReason(t, err, want)
	if ctx.Err() != nil {
		t.Error("only the row's own deadline ended it")
	}
	if r.check != nil {
		r.check(t, report, err)
	}
	if taken := c.taken.Load(); taken > maxTaken {
		t.Errorf("the operator took %d bytes", taken)
	}
	if !r.hangs {
		eventually(t, "no process of the operator's is left", func() bool { return len(c.ours()) == 0 })
	}
	c.wantLeft(r.leaves)
}

// ours are the processes in the container that belong to the operator: those that its
// commands started, unless they are programs of the row's.
func (c *container) ours() map[int]string {
	left := c.processes()
	for pid, line := range left {
		if !strings.Contains(line, "jmx-attach") || strings.Contains(line, fakes+"/") || strings.Contains(line, "sleep") {
			delete(left, pid)
		}
	}
	return left
}

// wantLeft makes sure of what lies in the agent directory, if that is a directory of
// ours: the helper and what is named, and nothing that was begun and not ended.
func (c *container) wantLeft(names []string) {
	c.t.Helper()
	info, err := os.Lstat(c.in(helperapi.AgentDirectory))
	if err != nil || !info.IsDir() {
		return
	}
	entries, err := os.ReadDir(c.in(helperapi.AgentDirectory))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(append(names, "jmx-attach-*"), func(pattern string) bool {
			matched, err := filepath.Match(pattern, entry.Name())
			return err == nil && matched
		}) {
			c.t.Errorf("%s is left in the container", entry.Name())
		}
	}
}

// wantReason makes sure of the reason, and that the sentence can be read by a person on
// a terminal.
func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil && want == "" {
		return
	}
	known, ok := errors.AsType[*transport.Error](err)
	if !ok || known.Reason != want {
		t.Errorf("it is %#v (%v), want %q", err, err, want)
		return
	}
	wantPrintable(t, known.Message)
	if !v1alpha1.Known(known.Reason) || len(known.Message) > 700 {
		t.Errorf("a record does not take %s: %.100q", known.Reason, known.Message)
	}
}

// wantPrintable makes sure that a terminal shows a text as it is.
func wantPrintable(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		t.Errorf("a terminal shows something else than %.200q", text)
	}
}

// operator is the operator's side.
type operator struct {
	exec    *transport.Exec
	door    *transport.Door
	pods    *pods
	hostile transport.Container
	room    chan struct{}
}

// newOperator returns one that may hold one session at a time.
func newOperator(t *testing.T, hostile, neighbor *container) *operator {
	t.Helper()
	binary, err := helperBinary()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	helper := transport.NewBlob("jmx-attach-", content, "")
	artifacts := &transport.Artifacts{Helpers: map[string]transport.Blob{"x86_64": helper, "aarch64": helper}, Agent: jar, Implementation: exporter}
	o := &operator{pods: newPods(), room: make(chan struct{}, 1)}
	limits := transport.NewLimits(1, 1, 1)
	limits.OnRoom(func(string, string) {
		select {
		case o.room <- struct{}{}:
		default:
		}
	})
	o.exec = transport.NewExec(fleet{"hostile": hostile, "neighbor": neighbor}, artifacts, effects.Direct, limits)
	o.door = transport.NewDoor(o.exec, o.pods, transport.DoorOptions{Image: "operator:1"})
	o.hostile = transport.Container{
		Namespace: "ns", Pod: "hostile", PodUID: podUID, Name: "app", Node: "node", ID: "containerd://" + hostile.id,
	}
	return o
}

// asks opens a session with the hostile container and asks for one operation.
func (o *operator) asks(ctx context.Context, way v1alpha1.Transport, call call) (*helperapi.Report, error) {
	in := o.hostile
	in.Transport = way
	ways := transport.Ways{exec_: o.exec, door: o.door}
	if way == door {
		in.Object = o.pods.pod.DeepCopy()
		if _, err := ways.Open(ctx, in); !isReason(err, v1alpha1.ReasonDoorPending) {
			return nil, err
		}
		in.Object = o.pods.started()
	}
	sessions := transport.NewSessions(ways)
	defer sessions.Close()
	for {
		report, err := sessions.Run(ctx, in, call.verb, call.request, call.blobs...)
		if !isReason(err, v1alpha1.ReasonQueued) || !o.awaitRoom(ctx) {
			return report, err
		}
	}
}

// besides inspects a container of another pod, which has no part in this, and returns
// once that succeeded.
func (o *operator) besides(ctx context.Context) error {
	in := transport.Container{Namespace: "ns", Pod: "neighbor", PodUID: types.UID(podUID), Name: "app", Node: "node"}
	sessions := transport.NewSessions(o.exec)
	defer sessions.Close()
	for {
		report, err := sessions.Run(ctx, in, helperapi.VerbInspect, helperapi.Request{})
		if err == nil && report.Error == nil {
			return nil
		}
		if !isReason(err, v1alpha1.ReasonQueued) || !o.awaitRoom(ctx) {
			return err
		}
	}
}

// awaitRoom waits until there may be room for a session.
func (o *operator) awaitRoom(ctx context.Context) bool {
	select {
	case <-o.room:
		return true
	case <-ctx.Done():
		return false
	}
}

func isReason(err error, reason string) bool {
	known, ok := errors.AsType[*transport.Error](err)
	return ok && known.Reason == reason
}
