//go:build linux

package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The end of the agent breaks no operation off: what is under way is answered, nothing else
// begins, and each conversation hears why.
func TestNodeStops(t *testing.T) {
	one, pod := inPod(t), jvmtest.NeedPod(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true, Group: pod})
	other := helperapi.NodeTarget{PodUID: pod.UID, ContainerID: pod.ContainerID}
	agent, _ := startAgent(t, agentFlags...)
	n := newNodeTalk(t)
	waits := n.about(one)
	busy := n.about(other)
	file := helperapi.NewFile("config-", []byte("rules"), ".yaml")
	req := helperapi.Request{PodUID: other.PodUID, ContainerID: other.ContainerID, Files: []helperapi.File{file}}
	if answer := busy.ask(helperapi.VerbStage, req); answer.Send != file.Size {
		t.Fatalf("got %+v", answer.Report)
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stops := func(s *talk) {
		t.Helper()
		if err := s.says(); err.Reason != reasonAgentLeaves || !strings.Contains(err.Message, "waiting for the next one") {
			t.Errorf("got %v", err)
		}
		s.over()
	}
	stops(waits)
	stops(n.asks(one))
	if len(n.childrenOf()) != 1 || syscall.Kill(agent.Process.Pid, 0) != nil {
		t.Error("the operation that is under way has ended, or the agent")
	}
	busy.write("rules")
	answer := busy.answer()
	if answer.ID != busy.calls || answer.Report == nil || answer.Report.Error != nil || len(answer.Report.Files) != 1 {
		t.Errorf("got %+v", answer.Report)
	}
	stops(busy)
	endsWell(t, n.ended)
	begin := time.Now()
	if err := agent.Wait(); err != nil || time.Since(begin) > leaveTimeout {
		t.Errorf("after %s, the agent ends with %v", time.Since(begin), err)
	}
	app.Unharmed()
}

// SIGTERM reaches the process that was found, and not a successor with its PID.
func TestTerminate(t *testing.T) {
	for name, tc := range map[string]struct {
		startedBefore uint64 // in ticks
		want          syscall.Signal
	}{
		"the process":              {want: syscall.SIGTERM},
		"a successor with its PID": {startedBefore: 1, want: syscall.SIGKILL},
	} {
		sleep := exec.Command("sleep", "3600")
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		started, err := jvm.StartTime(sleep.Process.Pid)
		if err == nil {
			terminate(jvm.Process{PID: sleep.Process.Pid, StartTime: started - tc.startedBefore})
		}
		_ = sleep.Process.Kill() // the first of two fatal signals is the one that it ends by
		_ = sleep.Wait()         // says the signal
		if got := sleep.ProcessState.Sys().(syscall.WaitStatus).Signal(); err != nil || got != tc.want {
			t.Errorf("%s: ended by %v (error %v), want %v", name, got, err, tc.want)
		}
	}
}
