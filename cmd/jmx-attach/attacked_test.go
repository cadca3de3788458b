//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	// asAttacker turns this binary into a process that ends all processes and threads that it
	// may, if they have this argument; or traces them, if its value begins with "trace:".
	asAttacker = "JMX_ATTACH_TEST_ATTACKER"
	// inspects is an argument of the helpers that are attacked.
	inspects = "inspect"
	nobody   = 65534
	// rounds is after how many rounds an attacker reports that it has attacked.
	rounds = 3
)

// attack attacks forever.
func attack(argument string) {
	runtime.LockOSThread() // the tracer is a thread
	fmt.Println("attacking")
	argument, trace := strings.CutPrefix(argument, "trace:")
	for round := 0; ; round++ {
		processes, err := os.ReadDir("/proc")
		if err != nil {
			panic(err)
		}
		if round == rounds {
			fmt.Println("attacked")
		}
		for _, process := range processes {
			if pid, err := strconv.Atoi(process.Name()); err == nil && pid != os.Getpid() {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have exited
				if bytes.Contains(line, []byte("\x00"+argument+"\x00")) {
					attackThreads(pid, trace)
				}
			}
		}
	}
}

func attackThreads(pid int, trace bool) {
	const ptraceSeize = 0x4206 // PTRACE_SEIZE of ptrace(2)
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if trace {
			_, _, _ = syscall.Syscall6(syscall.SYS_PTRACE, ptraceSeize, uintptr(tid), 0, 0, 0, 0)
		} else {
			_ = syscall.Kill(tid, syscall.SIGKILL)
		}
	}
}

// attackBy starts an attacker of a user.
func attackBy(t *testing.T, user uint32, how string) *jvmtest.Process {
	t.Helper()
	cmd := jvmtest.As(t, user, exec.Command("/proc/self/exe"))
	cmd.Env = append(os.Environ(), asAttacker+"="+how)
	attacker := jvmtest.Run(t, cmd)
	attacker.AwaitOutput("attacking")
	return attacker
}

// A process of the JVM's user cannot end a helper of root, which acts as that user meanwhile.
func TestKilledByJVMsUser(t *testing.T) {
	jvmtest.NeedUsers(t)
	jvmtest.Need(t, 17).Start(t, jvmtest.Options{User: nobody})
	attacker := attackBy(t, nobody, inspects)

	own := jvmtest.As(t, nobody, helperCommand(inspects, "-o", "json"))
	if err := own.Run(); err == nil || own.ProcessState.Exited() {
		t.Fatalf("a helper of the attacker's user: %s, so this test proves nothing", own.ProcessState)
	}
	const times = 20
	for range times {
		cmd := helperCommand(inspects, "-o", "json")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(`"mainClass":"App"`)) {
			t.Fatalf("a helper of root: %s, %v: %s\n%s", cmd.ProcessState, err, out, attacker.Output())
		}
	}
}

// A process of the helper's own user cannot trace it, which would let it answer for the helper.
func TestTracedByItsUser(t *testing.T) {
	jvmtest.NeedUsers(t)
	traces := func(target *exec.Cmd, argument string) bool {
		process := jvmtest.Run(t, jvmtest.As(t, nobody, target))
		process.AwaitOutput("\n")
		attacker := jvmtest.As(t, nobody, exec.Command("/proc/self/exe"))
		attacker.Env = append(os.Environ(), asAttacker+"=trace:"+argument)
		running := jvmtest.Run(t, attacker)
		running.AwaitOutput("attacking")
		return tracedBy(t, process.PID, running)
	}
	if !traces(exec.Command("sh", "-c", "echo; read line", "x", "traced", "y"), "traced") {
		t.Skip("this machine lets no process trace another one of its user")
	}
	if traces(helperCommand("serve"), "serve") {
		t.Error("a process of the helper's user traces it")
	}
}

// tracedBy reports whether an attacker succeeds within its first rounds.
func tracedBy(t *testing.T, pid int, attacker *jvmtest.Process) bool {
	t.Helper()
	attacker.AwaitOutput("attacked")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(status), "TracerPid:\t0\n")
}
