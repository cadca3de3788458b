//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

// inPod starts a process in the control groups of a container of a pod, and returns the
// container.
func inPod(t *testing.T) helperapi.NodeTarget {
	t.Helper()
	pod := jvmtest.NeedPod(t)
	group := ""
	for _, hierarchy := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		if found, _ := filepath.Glob(filepath.Join(hierarchy, "*", "pod"+pod.UID, pod.ContainerID)); len(found) > 0 { // the pattern is valid
			group = found[0]
		}
	}
	jvmtest.Run(t, exec.CommandContext(t.Context(), "sh", "-c", `echo 0 >"$0/cgroup.procs"; echo up; exec sleep 1000`, group)).AwaitOutput("up\n")
	return helperapi.NodeTarget{PodUID: pod.UID, ContainerID: pod.ContainerID}
}

// agentFlags allow what the processes of a test have: the namespaces and mounts of this
// machine.
var agentFlags = []string{"--allow-host-pid", "--allow-host-network", "--allow-host-ipc", "--allow-privileged", "--allow-capabilities=ALL", "--allow-host-paths=/"}

// startAgent starts the main process of a node agent, and returns what it prints.
func startAgent(t *testing.T, flags ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	agent := helperCommand(append([]string{"node"}, flags...)...)
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill() // it may have exited
		_ = agent.Wait()
	})
	read := bufio.NewReader(out)
	if line, err := read.ReadString('\n'); err != nil || !strings.Contains(line, "waits for sessions") {
		t.Fatalf("it says %q, %v", line, err)
	}
	return agent, read
}

// nodeTalk is a session in a node agent.
type nodeTalk struct {
	t      *testing.T
	cmd    *exec.Cmd
	mux    *mux.Session
	ended  chan error
	stdin  io.Closer
	stderr *bytes.Buffer
}

// newNodeTalk starts a session in a node agent.
func newNodeTalk(t *testing.T, env ...string) *nodeTalk {
	t.Helper()
	n := &nodeTalk{t: t, cmd: helperCommand("serve", helperapi.ServeOnNode), ended: make(chan error, 1), stderr: &bytes.Buffer{}}
	n.cmd.Env = append(n.cmd.Env, env...)
	n.cmd.Stderr = n.stderr
	in, err := n.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	n.cmd.Stdout = stdout
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	n.stdin, n.mux = in, mux.Client(out, in)
	go func() { n.ended <- n.cmd.Wait() }()
	t.Cleanup(func() {
		n.mux.Close(nil)
		in.Close()
		out.Close()
		_ = n.cmd.Process.Kill() // it may have exited
	})
	return n
}

// begin begins a conversation with this first line.
func (n *nodeTalk) begin(line string) *talk {
	n.t.Helper()
	stream, err := n.mux.Open()
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { stream.Close("") })
	s := &talk{t: n.t, in: closer{stream}, out: bufio.NewReader(stream)}
	s.write(line + "\n")
	return s
}

// closer is a stream whose writer can be closed.
type closer struct{ *mux.Stream }

// Close implements io.Closer.
func (c closer) Close() error { c.CloseWrite(); return nil }

// about begins a conversation about a container, and returns it after the hello.
func (n *nodeTalk) about(target helperapi.NodeTarget) *talk {
	n.t.Helper()
	line, err := json.Marshal(target)
	if err != nil {
		n.t.Fatal(err)
	}
	s := n.begin(string(line))
	if hello := s.answer().Hello; hello == nil || hello.Version != "devel" {
		n.t.Fatalf("the hello is %+v", hello)
	}
	return s
}

// says returns the next answer that is not to a call: an error.
func (s *talk) says() *helperapi.Error {
	s.t.Helper()
	for {
		line, err := helperapi.ReadLine(s.out, helperapi.MaxAnswer)
		var answer helperapi.Answer
		if err != nil || len(line) > 0 && json.Unmarshal(line, &answer) != nil {
			s.t.Fatalf("%v in %q", err, line)
		}
		if len(line) > 0 {
			if answer.ID != 0 || answer.Report == nil || answer.Report.Error == nil {
				s.t.Fatalf("got %s", line)
			}
			return answer.Report.Error
		}
	}
}

// over checks that the conversation has ended by itself.
func (s *talk) over() {
	s.t.Helper()
	if rest, err := io.ReadAll(s.out); err != nil || strings.TrimSpace(string(rest)) != "" {
		s.t.Errorf("it said %q, %v", rest, err)
	}
}

// Conversations are held side by side; a child that hangs, or is killed, costs the others
// nothing, and one that ends says why.
func TestNodeSession(t *testing.T) {
	one, other := inPod(t), inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t)
	hung := n.about(one)
	pid := n.child()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	hung.write(`{"id":1,"verb":"inspect","request":{}}` + "\n")
	for range 3 {
		s := n.about(other)
		s.call(helperapi.VerbInspect, helperapi.Request{PodUID: other.PodUID, ContainerID: other.ContainerID}, "")
		s.in.Close()
		s.over()
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := hung.says(); err.Reason != reasonHelperKilled || !strings.Contains(err.Message, "signal 9") {
		t.Errorf("got %v", err)
	}
	hung.over()
	n.stdin.Close()
	endsWell(t, n.ended)
}

// childrenOf returns the children of all threads.
func (n *nodeTalk) childrenOf() []int {
	n.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.cmd.Process.Pid))
	if err != nil {
		n.t.Fatal(err)
	}
	var all []int
	for _, task := range tasks {
		line, _ := os.ReadFile(task) // the thread may have exited
		for field := range strings.FieldsSeq(string(line)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// A conversation is about one container, whatever it is asked, and begins with that.
func TestNodeSessionIsBound(t *testing.T) {
	one, other := inPod(t), inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t)
	s := n.about(one)
	for name, req := range map[string]helperapi.Request{
		"another container":            {PodUID: one.PodUID, ContainerID: other.ContainerID},
		"another pod":                  {PodUID: other.PodUID, ContainerID: one.ContainerID},
		"none, as on a host":           {},
		"its pod, with no container":   {PodUID: one.PodUID},
		"its container, with no pod":   {ContainerID: one.ContainerID},
		"another one altogether":       {PodUID: other.PodUID, ContainerID: other.ContainerID},
		"another with a process in it": {PodUID: other.PodUID, ContainerID: other.ContainerID, Target: &helperapi.Target{PID: 1, StartTime: 1}},
	} {
		report := s.call(helperapi.VerbInspect, req, "")
		wantReason(t, report, helperapi.ReasonBadRequest)
		if len(report.Processes) > 0 || report.Error == nil || !strings.Contains(report.Error.Message, "another container") {
			t.Errorf("%s: got %+v", name, report)
		}
	}
	s.in.Close()
	s.over()
	for name, line := range map[string]string{
		"no JSON": "hello", "no pod": `{"containerID":"0abc"}`, "no container": `{"podUID":"1"}`, "too long": strings.Repeat("x", 2*maxTarget), "empty": "",
	} {
		s := n.begin(line)
		if err := s.says(); err.Reason != helperapi.ReasonBadRequest {
			t.Errorf("%s: got %v", name, err)
		}
		s.over()
	}
	n.stdin.Close()
	endsWell(t, n.ended)
}

// Nobody who execs into the agent reaches a container past its checks: a child's task is not
// on its command line.
func TestNodeChildNeedsTask(t *testing.T) {
	for _, args := range [][]string{{"serve", serveTarget}, {"serve", serveTarget, `{"target":{"podUID":"1","containerID":"2"}}`}} {
		r := call(t, "", args...)
		if r.code == 0 && r.stdout == "" || strings.Contains(r.stdout, "containerID") {
			t.Errorf("%v: got %+v", args, r)
		}
	}
	if r := call(t, "", "serve", serveTarget); r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "own use") {
		t.Errorf("got %+v", r)
	}
}

// A container in which helpers hang gets no more than some of them.
func TestNodeSessionLimits(t *testing.T) {
	one, other := inPod(t), inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t)
	var all []*talk
	for range maxChildrenOfOne {
		all = append(all, n.about(one))
	}
	line, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	s := n.begin(string(line))
	if err := s.says(); err.Reason != helperapi.ReasonBusy {
		t.Errorf("got %v", err)
	}
	s.over()
	all = append(all, n.about(other))
	for _, s := range all {
		s.in.Close()
		s.over()
	}
	n.about(one).in.Close()
	n.stdin.Close()
	endsWell(t, n.ended)
}

// A session ends when nothing was asked for a while; one with a conversation does not.
func TestNodeSessionIdle(t *testing.T) {
	endsWell(t, newNodeTalk(t, idleFor+"=10ms").ended)
	one := inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t, idleFor+"=500ms")
	s := n.about(one) // ends after as long
	s.over()
	endsWell(t, n.ended)
}

// When the operator is gone, or ends a conversation, the children end, also those that hang.
func TestNodeChildrenEnd(t *testing.T) {
	one := inPod(t)
	startAgent(t, agentFlags...)
	for name, tc := range map[string]struct {
		hangs bool
		leave func(*nodeTalk, *talk)
	}{
		"the end of a conversation":        {false, func(_ *nodeTalk, s *talk) { s.in.Close() }},
		"a reset":                          {false, func(_ *nodeTalk, s *talk) { s.in.(closer).Stream.Close("") }},
		"the end of the session":           {false, func(n *nodeTalk, _ *talk) { n.stdin.Close() }},
		"a conversation's end, and hangs":  {true, func(_ *nodeTalk, s *talk) { s.in.Close() }},
		"a reset, and hangs":               {true, func(_ *nodeTalk, s *talk) { s.in.(closer).Stream.Close("") }},
		"the session's end, and one hangs": {true, func(n *nodeTalk, _ *talk) { n.stdin.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeTalk(t, graceFor+"=300ms")
			s := n.about(one)
			pid := n.child()
			if tc.hangs {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			tc.leave(n, s)
			await(t, "the child has ended", func() bool { return syscall.Kill(pid, 0) != nil })
		})
	}
}

// The main process says one line, and waits until it is asked to end. It refuses what is no
// flag of it.
func TestNodeWaits(t *testing.T) {
	agent, read := startAgent(t, "--allow-privileged", "--allow-capabilities=SYS_ADMIN,NET_ADMIN", "--allow-host-paths=/var/log")
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(read)
	if ended := agent.Wait(); ended != nil || err != nil || len(rest) > 0 {
		t.Errorf("it ended with %v, and said %q, %v", ended, rest, err)
	}
}

// A session serves what the flags of the main process of its container allow, and nothing if
// there is none.
func TestNodeRefuses(t *testing.T) {
	one := inPod(t)
	line, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	refusal := func() *helperapi.Error {
		n := newNodeTalk(t)
		s := n.begin(string(line))
		err := s.says()
		s.over()
		n.stdin.Close()
		endsWell(t, n.ended)
		return err
	}
	if err := refusal(); err.Reason != helperapi.ReasonNodeAgentRefused || !strings.Contains(err.Message, "--allow-host-pid") {
		t.Errorf("without a main process: got %v", err)
	}
	startAgent(t, agentFlags[1:]...)
	if err := refusal(); err.Reason != helperapi.ReasonNodeAgentRefused || !strings.Contains(err.Message, "--allow-host-pid") || strings.Contains(err.Message, "network") {
		t.Errorf("with all flags but one: got %v", err)
	}
}

// With several main processes, one of which an exec may have started, nothing is allowed but
// what all of them allow the same way.
func TestNodeOtherMain(t *testing.T) {
	one := inPod(t)
	startAgent(t, agentFlags[1:]...)
	startAgent(t, agentFlags...)
	line, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	n := newNodeTalk(t)
	if err := n.begin(string(line)).says(); err.Reason != helperapi.ReasonNodeAgentRefused || !strings.Contains(err.Message, "--allow-host-pid") || !strings.Contains(err.Message, "network") {
		t.Errorf("got %v", err)
	}
}

// An exec into a node agent reaches no process past the agent's checks, whatever its
// arguments are.
func TestNodeServesOnlySessions(t *testing.T) {
	startAgent(t, agentFlags...)
	for _, args := range []string{"inspect", "status --pid 1", "load --pid 1 --config /x --agent /x --exporter /x", "check --pid 1 --config /x", "unload --pid 1", "probe --port 1", "stage", "serve", "serve --door", "serve --node --node", "serve " + strings.Repeat("0", 64), "door --forever", "conquer"} {
		if r := call(t, "", strings.Fields(args)...); r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "node agent") {
			t.Errorf("%s: got %+v", args, r)
		}
	}
	for _, args := range []string{"--version", "--help", "node --help"} {
		if r := call(t, "", strings.Fields(args)...); r.code != 0 {
			t.Errorf("%s: got %+v", args, r)
		}
	}
}

// A session that is idle does not end with a conversation that has just begun.
func TestNodeIdleEnd(t *testing.T) {
	fromAgent, toOperator := io.Pipe()
	fromOperator, toAgent := io.Pipe()
	begun, hold := make(chan struct{}), make(chan struct{})
	server := mux.Server(fromOperator, toOperator, 1, func(*mux.Stream) { close(begun); <-hold })
	client := mux.Client(fromAgent, toAgent)
	defer func() {
		close(hold)
		client.Close(nil)
		server.Close(nil)
		for _, pipe := range []io.Closer{fromAgent, toOperator, fromOperator, toAgent} {
			pipe.Close()
		}
	}()
	if _, err := client.Open(); err != nil {
		t.Fatal(err)
	}
	<-begun
	(&nodeSession{idle: time.NewTimer(time.Hour)}).endIdle(server)
	if err := server.Err(); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
}
