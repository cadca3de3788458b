//go:build linux

package hostile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

const (
	// asAttacker, an environment variable, makes this binary attack helpers: see attack.
	asAttacker = "HOSTILE_ATTACKER"
	// ofJVM is the user of the JVMs, and of the attacker.
	ofJVM = 1000
	// attackedJVMs are how many processes a helper acts as their user for, in one inspection.
	attackedJVMs = 20
)

// A process of the JVM's user ends and limits all processes and threads of the operator that it
// may: those of a helper of root are none, although it acts as that user.
func TestKilled(t *testing.T) {
	attacked := func(user uint32) func(*container, *call) {
		return func(c *container, _ *call) {
			c.user = user
			c.sh(`mkdir -p /mnt/jdk/lib/server && cp "$(/sbin/ldconfig -p | awk '/libm\.so\.6/ {print $NF; exit}')" ` + library)
			for range attackedJVMs {
				c.maps(library, c.commandAs(ofJVM, "sh", "-c", "echo up; exec env LD_PRELOAD="+library+" sleep 1000"))
			}
			c.copiesItself("/mnt/attacker")
			attacker := c.commandAs(ofJVM, "/mnt/attacker")
			attacker.Env = append(os.Environ(), asAttacker+"=1")
			c.starts(attacker)
		}
	}
	test(t, map[string]row{
		// Or the script that installs it, in the middle of a file, which a later helper removes.
		"the JVM's user ends a helper of its own": {nodeReason: succeeds, given: attacked(ofJVM), reason: v1alpha1.ReasonHelperKilled, leaves: []string{".jmx-attach-*"}},
		"the JVM's user ends a helper of root": {given: attacked(0), check: func(t *testing.T, report *helperapi.Report, _ error) {
			t.Helper()
			if report == nil || len(report.Processes) != attackedJVMs {
				t.Errorf("got report %+v, want %d processes", report, attackedJVMs)
			}
		}},
	})
}

// copiesItself copies this binary into the container: one that this process writes would be busy
// while it forks.
func (c *container) copiesItself(path string) {
	c.t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		c.t.Fatal(err)
	}
	defer self.Close()
	copying := c.command("sh", "-c", `cat >"$0"; chmod 755 "$0"`, path)
	copying.Stdin = self
	if err := copying.Run(); err != nil {
		c.t.Fatal(err)
	}
}

// attack ends and limits forever what it may of the operator's processes.
func attack() {
	fmt.Println("up")
	for {
		processes, err := os.ReadDir("/proc")
		must(err)
		for _, process := range processes {
			line, _ := os.ReadFile("/proc/" + process.Name() + "/cmdline") // it may have exited
			if !bytes.Contains(line, []byte("jmx-attach")) {
				continue
			}
			threads, _ := os.ReadDir("/proc/" + process.Name() + "/task")
			for _, thread := range threads {
				if id, err := strconv.Atoi(thread.Name()); err == nil {
					limit := syscall.Rlimit{}
					_, _, _ = syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(id), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
					_ = syscall.Kill(id, syscall.SIGKILL)
				}
			}
		}
	}
}
