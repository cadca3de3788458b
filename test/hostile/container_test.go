//go:build linux

package hostile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	podUID = "abcdef01-1111-4222-8333-444455556666"
	// tools are this machine's directories of commands.
	tools = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// fakes is the directory of the row's programs.
	fakes = "/mnt/bin"
)

// boot turns namespaces into a container of the pod: with its own /proc and /tmp, a
// kubelet's mount, and the row's files in /mnt. $1 is its control group,
// $2 are the mount options of its /tmp, and $3 is the content of a door: the helper and its
// jars. Further arguments are directories in /mnt that it keeps.
const boot = `set -e
[ -z "$1" ] || echo 0 >"$1/cgroup.procs"
mount --make-rprivate /
mount -t proc proc /proc
exec 3</mnt
mount -t tmpfs side /mnt
[ -z "$3" ] || cp -r "$3/." /mnt
mkdir -p /mnt/bin /mnt/pods/` + podUID + `
: >/mnt/pods/` + podUID + `/etc-hosts
: >/mnt/hosts
mount --bind /mnt/pods/` + podUID + `/etc-hosts /mnt/hosts
mount -t tmpfs -o "mode=1777,$2" tmp /tmp
shift 3
for kept; do
  case $kept in /mnt/*) mkdir -p "$kept"; mount -c --bind "/proc/self/fd/3/${kept#/mnt/}" "$kept" ;; esac
done
exec 3<&-
echo up
exec sleep infinity`

// container is a container on this machine.
type container struct {
	t *testing.T
	// id is the runtime's container ID, and group the control group that is named after it.
	id, group string
	// init is its first process, and door that of the ephemeral container beside it, by
	// PIDs of the host.
	init, door int
	// user is the user and group ID of its processes, and of the operator's in it.
	user uint32
	// path are the directories in which it finds commands.
	path string
	// limits are options of prlimit, for everything that is executed in it.
	limits []string
	// program replaces the helper in the door; the real helper if empty.
	program string
	// taken counts the bytes that the operator's side reads in a session.
	taken atomic.Int64
}

// newContainer starts a container until the test ends. tmp are mount options. What is kept
// is visible in it, although it may be in /mnt.
func newContainer(t *testing.T, tmp string, kept ...string) *container {
	t.Helper()
	id := make([]byte, 32)
	_, _ = rand.Read(id) // never fails
	c := &container{t: t, id: hex.EncodeToString(id), path: tools}
	c.group = makeGroup(t, c.id)
	cmd := exec.CommandContext(t.Context(), "unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", boot, "sh", c.group, tmp, "")
	cmd.Args = append(cmd.Args, kept...)
	run := jvmtest.Run(t, cmd)
	run.AwaitOutput("up\n")
	c.init = c.firstProcess(func(pid int) bool { return parent(pid) == run.PID })
	return c
}

// openDoor starts the ephemeral container beside it.
func (c *container) openDoor(from *image) {
	c.t.Helper()
	if c.group == "" {
		c.t.Fatal("a door needs control groups, which this process may not create: run the tests as root")
	}
	cmd := exec.CommandContext(c.t.Context(), "nsenter", "--target", strconv.Itoa(c.init), "--pid", "unshare", "--mount", "sh", "-c", boot, "sh", "", "size=1m", from.dir)
	jvmtest.Run(c.t, cmd).AwaitOutput("up\n")
	mounts := link(c.init, "ns/mnt")
	c.door = c.firstProcess(func(pid int) bool { return c.has(pid) && link(pid, "ns/mnt") != mounts })
	c.t.Cleanup(func() { kill(c.door) })
}

// makeGroup creates a control group for a container, in that of its pod, as a kubelet names
// them; none where that is not permitted.
func makeGroup(t *testing.T, id string) string {
	t.Helper()
	for _, hierarchy := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		pod := filepath.Join(hierarchy, "pod"+podUID)
		group := filepath.Join(pod, id)
		if os.MkdirAll(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			eventually(t, "the control group is removed", func() bool {
				err := os.Remove(group)
				return err == nil || errors.Is(err, fs.ErrNotExist)
			})
			_ = os.Remove(pod) // other containers of the tests may be in it
		})
		if _, err := os.Stat(filepath.Join(group, "cgroup.procs")); err == nil {
			return group
		}
	}
	return ""
}

// in returns the host's path of a path in the container.
func (c *container) in(path string) string {
	return filepath.Join("/proc", strconv.Itoa(c.init), "root", path)
}

// write writes a file in the container, by a process of it: a file that this process writes
// is busy while another process is forking.
func (c *container) write(path, content string, mode os.FileMode) {
	c.t.Helper()
	cmd := c.command("sh", "-c", fmt.Sprintf(`mkdir -p "${0%%/*}" && cat >"$0" && chmod %o "$0"`, mode), path)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", path, err, out)
	}
}

// sh runs a shell script in the container, which must succeed.
func (c *container) sh(script string) {
	c.t.Helper()
	if out, err := c.command("sh", "-c", script).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// command returns a command that runs in the container, as a process of it and as root.
func (c *container) command(args ...string) *exec.Cmd { return c.commandAs(0, args...) }

func (c *container) commandAs(user uint32, args ...string) *exec.Cmd {
	// The process that waits for it outside the PID namespace is not in the control group: as a
	// process of the container it would be one with the node's process IDs.
	enter := []string{"--target", strconv.Itoa(c.init), "--pid", "sh", "-c", `[ -z "$0" ] || echo 0 >"$0/cgroup.procs"; exec "$@"`, c.group, "nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", c.init)}
	args = append(append(append(enter, setUser(user)...), "--"), args...)
	return exec.CommandContext(c.t.Context(), "nsenter", args...)
}

// setUser returns the options of nsenter for a user. It is never without them: whoever may
// change the user enters with the groups of this process otherwise.
func setUser(user uint32) []string {
	id := strconv.FormatUint(uint64(user), 10)
	return []string{"--setuid", id, "--setgid", id}
}

// starts starts a process of the container, which prints up, and returns its PID in the
// container and on the host.
func (c *container) starts(cmd *exec.Cmd) (inside, outside int) {
	c.t.Helper()
	_, inside, outside = c.runs(cmd)
	return inside, outside
}

func (c *container) runs(cmd *exec.Cmd) (run *jvmtest.Process, inside, outside int) {
	c.t.Helper()
	before := c.processes()
	run = jvmtest.Run(c.t, cmd)
	run.AwaitOutput("up\n")
	outside = c.firstProcess(func(pid int) bool {
		_, old := before[pid]
		return !old && c.has(pid) && parent(pid) == run.PID
	})
	c.t.Cleanup(func() { kill(outside) })
	ids := strings.Fields(statusLine(outside, "NSpid"))
	inside, err := strconv.Atoi(ids[len(ids)-1])
	if err != nil {
		c.t.Fatal(err)
	}
	return run, inside, outside
}

// has reports whether a process is in the container's PID namespace.
func (c *container) has(pid int) bool {
	space := link(pid, "ns/pid")
	return space != "" && space == link(c.init, "ns/pid")
}

// processes returns the command lines of running processes in the container.
func (c *container) processes() map[int]string {
	all := map[int]string{}
	for _, pid := range pids() {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(line) > 0 && c.has(pid) {
			all[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return all
}

// firstProcess waits for a process that matches, and returns it.
func (c *container) firstProcess(match func(pid int) bool) (found int) {
	c.t.Helper()
	eventually(c.t, "the process runs", func() bool {
		for _, pid := range pids() {
			if match(pid) {
				found = pid
				return true
			}
		}
		return false
	})
	return found
}

// kill kills a process, if it still runs.
func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

func pids() []int {
	entries, _ := os.ReadDir("/proc")
	var all []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func link(pid int, name string) string {
	target, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name)) // it may have exited
	return target
}

func parent(pid int) int {
	n, _ := strconv.Atoi(statusLine(pid, "PPid"))
	return n
}

// statusLine returns the value of a line of proc_pid_status(5).
func statusLine(pid int, key string) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have exited
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("timed out after two minutes: %s", what)
		case <-ticker.C:
		}
	}
}
