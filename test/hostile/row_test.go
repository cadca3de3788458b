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
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

const (
	exec_ = v1alpha1.TransportExec
	door  = v1alpha1.TransportEphemeralContainer
	node  = v1alpha1.TransportNode
)

// row is one hostile container, and the operator's expected result.
type row struct {
	// by are the transports; all if empty.
	by []v1alpha1.Transport
	// program is a shell script that replaces the container's shell, or the helper in the door
	// or of the node agent. A process of the target's user could do that to a door, by ptrace or
	// /proc/<pid>/fd.
	// Empty for the real ones.
	program string
	// tmp are mount options of its /tmp.
	tmp string
	// given prepares the container, and may change the call.
	given func(c *container, call *call)
	call  call
	// reason is the expected reason; empty if the call succeeds. Where the transports differ,
	// doorReason is that of the door, and nodeReason that of the node agent, which may be
	// succeeds.
	reason, doorReason, nodeReason string
	// check checks the report and the error.
	check func(t *testing.T, report *helperapi.Report, err error)
	// hangs reports that a tool of the container never exits, and therefore the script that
	// called it does not either.
	hangs bool
	// leaves are patterns of the names that remain in its agent directory, beside the helper's.
	leaves []string
}

// call is a request to the helper.
type call struct {
	verb    helperapi.Verb
	request helperapi.Request
	blobs   []transport.Blob
}

// succeeds is the nodeReason of a call that succeeds.
const succeeds = "-"

const (
	// maxTaken limits what the operator's side reads in one session, and thus what it may
	// keep: its limits are 256 KiB for a line and for standard error.
	maxTaken = 1 << 20
	// maxUnread limits, in addition, what arrives of a conversation through a node agent
	// and is not read: what a stream may carry, and what was credited as the rest was read.
	maxUnread = 3 * mux.Window
	// rowTimeout ends a row that nothing else ends. The operator's timeout of a call is
	// shorter.
	rowTimeout = 3 * time.Minute
)

// A row holds a place of the processors. One that ends only by a deadline of the operator has
// its place among few others, so that it starts early, and gives it back before it waits.
var (
	working = make(chan struct{}, 4)
	waiting = make(chan struct{}, 2)
)

// tests counts the tests that have not ended.
var tests atomic.Int32

// test runs rows in parallel, each by its transports.
func test(t *testing.T, rows map[string]row) {
	t.Helper()
	jvmtest.NeedUsers(t)
	tests.Add(1)
	t.Parallel()
	neighbor := newContainer(t, "size=16m")
	fake, err := fakeImage()
	if err != nil {
		t.Fatal(err)
	}
	startAgent(t, fake)
	t.Run("rows", func(t *testing.T) {
		for name, r := range rows {
			by := r.by
			if len(by) == 0 {
				by = []v1alpha1.Transport{exec_, door, node}
			}
			for _, way := range by {
				t.Run(name+"/"+string(way), func(t *testing.T) {
					t.Parallel()
					r.run(t, way, neighbor)
				})
			}
		}
	})
	if tests.Add(-1) > 0 {
		return // the last one checks that for all
	}
	eventually(t, "no goroutine of a session remains", func() bool {
		stacks := make([]byte, 1<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "pkg/transport.")
	})
}

func (r row) run(t *testing.T, way v1alpha1.Transport, neighbor *container) {
	want := r.reason
	switch {
	case way == door && r.doorReason != "":
		want = r.doorReason
	case way == node && r.nodeReason == succeeds:
		want = ""
	case way == node && r.nodeReason != "":
		want = r.nodeReason
	}
	waits := slices.Contains([]string{v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonExecTimeout, v1alpha1.ReasonAttachTimeout}, want)
	places := working
	if waits {
		places = waiting
	}
	places <- struct{}{}
	leave := sync.OnceFunc(func() { <-places })
	defer leave()

	fake, err := fakeImage()
	if err != nil {
		t.Fatal(err)
	}
	c := newContainer(t, "size=16m"+r.tmp)
	if r.program != "" {
		c.path, c.program = fakes+":"+tools, fakes+"/sh"
		c.write(c.program, "#!/bin/bash\n"+r.program, 0o755)
	} else if way == door {
		c.openDoor(fake)
	}
	call := r.call
	if call.verb == "" {
		call.verb = helperapi.VerbInspect
	}
	if r.given != nil {
		r.given(c, &call)
	}
	o := newOperator(t, fake, c, neighbor)
	defer o.node.Close()
	if waits {
		leave()
	}
	ctx, cancel := context.WithTimeout(t.Context(), rowTimeout)
	defer cancel()

	beside := make(chan error, 1)
	go func() { beside <- o.besides(ctx, way) }()
	report, err := o.asks(ctx, way, call)
	if err := <-beside; err != nil {
		t.Errorf("inspection of another pod: %v", err)
	}

	wantReason(t, err, want)
	if ctx.Err() != nil {
		t.Error("only the row's deadline ended the call")
	}
	if r.check != nil {
		r.check(t, report, err)
	}
	limit := int64(maxTaken)
	if way == node {
		limit += maxUnread
	}
	if taken := c.taken.Load(); taken > limit {
		t.Errorf("bytes read by the operator: got %d, want at most %d", taken, limit)
	}
	if !r.hangs {
		eventually(t, "no process of the operator remains", func() bool { return len(c.ours()) == 0 })
	}
	c.wantLeft(r.leaves)
}

// ours returns the operator's processes in the container: those that its commands
// started, unless they are programs of the row.
func (c *container) ours() map[int]string {
	left := c.processes()
	for pid, line := range left {
		if !strings.Contains(line, "jmx-attach") || strings.Contains(line, fakes+"/") || strings.Contains(line, "sleep") {
			delete(left, pid)
		}
	}
	return left
}

// wantLeft checks the content of the agent directory, if that is a directory of the
// operator: the helper and the named files, and nothing incomplete.
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
			c.t.Errorf("%s remains in the container", entry.Name())
		}
	}
}

// wantReason checks the reason, and that the message is safe to print on a
// terminal.
func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil && want == "" {
		return
	}
	known, ok := errors.AsType[*transport.Error](err)
	if !ok || known.Reason != want {
		t.Errorf("got %#v (%v), want reason %q", err, err, want)
		return
	}
	wantPrintable(t, known.Message)
	if !v1alpha1.Known(known.Reason) || len(known.Message) > 700 {
		t.Errorf("message of %s does not fit into a status: %.100q", known.Reason, known.Message)
	}
}

// wantPrintable checks that a terminal shows a text as it is.
func wantPrintable(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		t.Errorf("a terminal would show something else than %.200q", text)
	}
}

// operator is the operator's side.
type operator struct {
	exec    *transport.Exec
	door    *transport.Door
	node    *transport.Node
	pods    *pods
	hostile transport.Container
	// neighbor is of another pod.
	neighbor transport.Container
	room     chan struct{}
}

// newOperator returns an operator that may hold one session at a time.
func newOperator(t *testing.T, with *image, hostile, neighbor *container) *operator {
	t.Helper()
	o := &operator{pods: newPods(hostile.user), room: make(chan struct{}, 1)}
	limits := transport.NewLimits(1, 1, 1)
	limits.OnRoom(func(string, string) bool {
		select {
		case o.room <- struct{}{}:
		default:
		}
		return true
	})
	o.exec = transport.NewExec(fleet{"hostile": hostile, "neighbor": neighbor}, with.artifacts, effects.Direct, limits)
	o.door = transport.NewDoor(o.exec, o.pods, transport.DoorOptions{Image: "operator:1"})
	agent := newAgent(with, hostile)
	o.node = transport.NewNode(agent, agent, with.artifacts, effects.Direct, limits)
	of := func(pod string, c *container) transport.Container {
		return transport.Container{Namespace: "ns", Pod: pod, PodUID: podUID, Name: "app", Node: "node", ID: "containerd://" + c.id}
	}
	o.hostile, o.neighbor = of("hostile", hostile), of("neighbor", neighbor)
	return o
}

// asks opens a session with the hostile container and sends one request.
func (o *operator) asks(ctx context.Context, way v1alpha1.Transport, call call) (*helperapi.Report, error) {
	sessions, in, err := o.opens(ctx, way)
	if err != nil {
		return nil, err
	}
	defer sessions.Close()
	for {
		report, err := sessions.Run(ctx, in, call.verb, call.request, call.blobs...)
		if !isReason(err, v1alpha1.ReasonQueued) || !o.awaitRoom(ctx) {
			return report, err
		}
	}
}

// opens returns sessions with the hostile container, whose door runs.
func (o *operator) opens(ctx context.Context, way v1alpha1.Transport) (*transport.Sessions, transport.Container, error) {
	in := o.hostile
	in.Transport = way
	ways := transport.Ways{exec_: o.exec, door: o.door, node: o.node}
	if way == door {
		in.Object = o.pods.pod.DeepCopy()
		if _, err := ways.Open(ctx, in); !isReason(err, v1alpha1.ReasonDoorPending) {
			return nil, in, err
		}
		in.Object = o.pods.started()
	}
	return transport.NewSessions(ways), in, nil
}

// besides inspects a container of another pod, which is not hostile, and returns
// once that succeeded. It does so through the node agent if the hostile one is reached by that.
func (o *operator) besides(ctx context.Context, way v1alpha1.Transport) error {
	in, sessions := o.neighbor, transport.NewSessions(o.exec)
	if way == node {
		sessions = transport.NewSessions(o.node)
	} else {
		in.ID = ""
	}
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

// awaitRoom waits until there may be capacity for a session.
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
