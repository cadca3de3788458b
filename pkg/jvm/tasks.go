//go:build linux

package jvm

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
	"banzaicloud.com/jmx-exporter-operator/pkg/pseudofs"
)

// neededTasks is how many tasks (processes and threads) the JVM's limits must leave before
// it is attached to. HotSpot starts a thread for its attach listener, and exits if it
// cannot (AttachListener::init); the agent then needs five. The rest is the application's
// own: at its limit, it would fail to start threads because of ours.
const neededTasks = 32

// taskStep is the number of tasks to which messages round: free tasks change constantly,
// and each new message is a write to a status.
const taskStep = 8

// TasksRefusal returns why the JVM must not be made to start threads; nil if its visible
// limits leave neededTasks. A limit of a control group above the container's own, such as
// the kubelet's podPidsLimit, is not visible, nor are the tasks that the same user has in
// other containers.
func (p Process) TasksRefusal() *Error {
	refuse := func(limit string, tasks cgroup.Tasks) *Error {
		return errorf(InsufficientThreads, "HotSpot starts a thread to be attached to, and exits if it cannot: %d tasks (processes and threads) must be free, and less than %d are below the limit of %d (%s). Raise the limit, or let the application use fewer threads.",
			neededTasks, tasks.Free()/taskStep*taskStep+taskStep, tasks.Limit, limit)
	}
	if tasks, limited := p.groupTasks(); limited && tasks.Free() < neededTasks {
		return refuse("pids.max of its control group", tasks)
	}
	if podUID, _, onNode := p.in.pod(); onNode { // no trial can be in the pod's group
		var tasks cgroup.Tasks
		var limited bool
		err := Outside(func() (err error) { // not even who has CAP_SYS_PTRACE alone may read all of them
			tasks, limited, err = cgroup.FreePodTasks(podUID)
			return err
		})
		if err != nil {
			return errorf(InsufficientThreads, "HotSpot starts a thread to be attached to, and exits if it cannot, and the pod's limit of processes and threads (podPidsLimit) cannot be determined: %v. The node agent reads it in the root directory of the node's process 1, for which it takes hostPID, the capability SYS_PTRACE, and no AppArmor profile or security module that hides it.", err)
		}
		if limited && tasks.Free() < neededTasks {
			return refuse("pids.max of the pod's control group, podPidsLimit, or of one above it", tasks)
		}
	}
	if tasks, limited := p.userTasks(); limited && tasks.Free() < neededTasks {
		return refuse("RLIMIT_NPROC, ulimit -u", tasks)
	}
	return nil
}

// groupTasks returns the tasks of the tightest control group, read with the JVM's
// permissions where that is possible.
func (p Process) groupTasks() (tasks cgroup.Tasks, limited bool) {
	read := func() error { tasks, limited = cgroup.FreeTasks(p.PID); return nil }
	if p.As(read) != nil {
		_ = read() // always returns nil
	}
	return tasks, limited
}

// TaskLimit returns the soft limit of tasks of the JVM's user, RLIMIT_NPROC of
// getrlimit(2). limited is false if there is none, or if it does not hold for the JVM.
func (p Process) TaskLimit() (limit int64, limited bool) {
	data, err := readProc(p.PID, "limits")
	if err != nil {
		return 0, false
	}
	limit, limited = taskLimit(data)
	return limit, limited && !p.exemptFromTaskLimit()
}

// userTasks returns TaskLimit, and how many tasks the user has, as far as they are visible, or
// at most has: they are not counted where those of all users leave enough.
func (p Process) userTasks() (tasks cgroup.Tasks, limited bool) {
	if tasks.Limit, limited = p.TaskLimit(); !limited {
		return tasks, false
	}
	if all, known := allTasks(); known && tasks.Limit-all >= neededTasks { // whoever they belong to
		tasks.Used = all
		return tasks, true
	}
	data, err := readProc(p.PID, "status")
	if err != nil {
		return tasks, false
	}
	s, err := parseStatus(data)
	if err != nil {
		return tasks, false
	}
	tasks.Used, err = tasksOfUser(s.realUID)
	return tasks, err == nil
}

// allTasks returns how many tasks there are on the node, also those that are not visible here:
// the fourth field of proc_loadavg(5) is <running>/<all>.
func allTasks() (n int64, known bool) {
	const name = "/proc/loadavg"
	if !ofKernel(name) {
		return 0, false
	}
	data, err := pseudofs.ReadFile(name, limit)
	if err != nil {
		return 0, false
	}
	return parseAllTasks(string(data))
}

// ofKernel reports whether a file is one of proc(5), and none that is mounted over it, such as
// LXCFS does, with what one container has.
func ofKernel(name string) bool {
	const procSuperMagic = 0x9fa0 // statfs(2)
	var fs syscall.Statfs_t
	return syscall.Statfs(name, &fs) == nil && fs.Type == procSuperMagic
}

// parseAllTasks parses proc_loadavg(5). No task at all, as gVisor says, is not known.
func parseAllTasks(loadavg string) (n int64, known bool) {
	fields := strings.Fields(loadavg)
	if len(fields) < 4 {
		return 0, false
	}
	_, all, _ := strings.Cut(fields[3], "/")
	n, err := strconv.ParseInt(all, 10, 64)
	return n, err == nil && n > 0
}

// taskLimit parses the soft limit "Max processes" of proc_pid_limits(5).
func taskLimit(limits []byte) (limit int64, limited bool) {
	for line := range bytes.Lines(limits) {
		if rest, found := bytes.CutPrefix(line, []byte("Max processes ")); found {
			fields := strings.Fields(string(rest))
			if len(fields) == 0 {
				return 0, false
			}
			n, err := strconv.ParseUint(fields[0], 10, 64)
			return int64(min(n, math.MaxInt64)), err == nil // "unlimited" is no number
		}
	}
	return 0, false
}

// exemptFromTaskLimit reports whether RLIMIT_NPROC does not hold for the JVM: it has
// CAP_SYS_ADMIN or CAP_SYS_RESOURCE, or is root, in the initial user namespace
// (copy_process in the kernel's fork.c).
func (p Process) exemptFromTaskLimit() bool {
	mapping, err := readProc(p.PID, "uid_map")
	if err != nil || strings.Join(strings.Fields(string(mapping)), " ") != "0 0 4294967295" {
		return false
	}
	data, err := readProc(p.PID, "status")
	if err != nil {
		return false
	}
	s, err := parseStatus(data)
	const exempt = 1<<21 | 1<<24 // CAP_SYS_ADMIN, CAP_SYS_RESOURCE
	return err == nil && (s.realUID == 0 || s.capabilities&exempt != 0)
}

// tasksOfUser counts the visible tasks of the processes with this real user ID.
func tasksOfUser(uid int) (int64, error) {
	pids, err := processIDs()
	if err != nil {
		return 0, err
	}
	var n int64
	for _, pid := range pids {
		data, err := readProc(pid, "status")
		if err != nil { // it has exited
			continue
		}
		s, err := parseStatus(data)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		if s.realUID == uid {
			n += s.threads
		}
	}
	return n, nil
}
