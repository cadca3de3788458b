//go:build linux

package helper

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// TrialCommand is the first argument of a process that runs Trial.
const TrialCommand = "trial"

const (
	// triedTasks is how many threads a trial starts beside those of its own runtime: the
	// JVM's attach listener, the five threads of the agent, and some.
	triedTasks = 8
	// trialTimeout limits a trial, which takes some 10 ms.
	trialTimeout = 3 * time.Second
	// noTask is what Go's runtime prints when it ends a process because it cannot start a
	// thread (newosproc in os_linux.go).
	noTask = "failed to create new OS thread"
	// noTaskInC is the same, in a program with parts in C, such as a test.
	noTaskInC = "pthread_create failed"
)

// trialProgram is this program. A variable for a test that limits it.
var trialProgram = "/proc/self/exe"

// checkTasks refuses a JVM that may not be able to start the threads of an attach and of
// the agent.
func checkTasks(ctx context.Context, p jvm.Process) error {
	if refusal := p.TasksRefusal(); refusal != nil {
		return refusal
	}
	return tryTasks(ctx, p)
}

// tryTasks refuses a JVM beside which triedTasks threads of its user cannot be started. It
// finds the limits that are not visible in a container: that of the pod (podPidsLimit of
// the kubelet) and of the node, and RLIMIT_NPROC where the same user has processes in
// other containers. The threads are those of another process, which ends at once: Go's
// runtime ends a process that cannot start a thread.
//
// Where the trial itself is not possible, it proves nothing. Beside a JVM of a node agent, it
// counts for RLIMIT_NPROC and the limits of the node, and not for the pod's, which is read
// instead (jvm.Process.TasksRefusal). In another user namespace its user has tasks of its own.
func tryTasks(ctx context.Context, p jvm.Process) error {
	said, stderr, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer said.Close()
	attributes := &os.ProcAttr{Env: append(os.Environ(), "GOTRACEBACK=none"), Files: []*os.File{nil, nil, stderr}, Sys: &syscall.SysProcAttr{}}
	if p.OnNode() || p.UID != os.Geteuid() || p.GID != os.Getegid() {
		attributes.Sys.Credential = &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}
	}
	limit := int64(-1)
	if soft, limited := p.TaskLimit(); limited {
		limit = soft
	}
	var trial *os.Process
	err = jvm.Outside(func() (err error) { // where this process may change its user
		trial, err = os.StartProcess(trialProgram, []string{"jmx-attach", TrialCommand, strconv.Itoa(triedTasks), strconv.FormatInt(limit, 10)}, attributes)
		return err
	})
	stderr.Close()
	if errors.Is(err, syscall.EAGAIN) {
		return errNoTask
	}
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = trial.Kill() })() // it may have ended
	text, _ := readLine(said)                                   // nothing, where it started all
	state, err := trial.Wait()
	switch {
	case err != nil || state.Success() || ctx.Err() != nil:
		return nil
	case strings.Contains(text, noTask) || strings.Contains(text, noTaskInC):
		return errNoTask
	default:
		return helperapi.Errorf(helperapi.ReasonInsufficientThreads, "In a trial, a process of %d threads could not run beside the application (%q), so the threads of an attach may not start either. Find out which limit is reached.", triedTasks, helperapi.Bounded(text))
	}
}

// readLine returns the first line, up to a limit.
func readLine(from io.Reader) (string, error) {
	return bufio.NewReader(io.LimitReader(from, 1024)).ReadString('\n')
}

var errNoTask = helperapi.Errorf(helperapi.ReasonInsufficientThreads, "HotSpot starts a thread to be attached to, and exits if it cannot. In a trial, %d threads could not be started beside the application's: a limit is reached that the container does not see, such as the kubelet's podPidsLimit. Raise it, or let the applications of the pod use fewer threads.", triedTasks)

// Trial starts threads that all exist at the same time, and returns 0. If it cannot start
// one, it does not return: Go's runtime prints noTask and exits. args are the number of threads
// and the soft limit of tasks of the user (RLIMIT_NPROC), -1 for none.
func Trial(args []string) int {
	if len(args) != 2 {
		return 1
	}
	n, err := strconv.Atoi(args[0])
	limit, invalid := strconv.ParseInt(args[1], 10, 64)
	if err != nil || invalid != nil {
		return 1
	}
	if limit >= 0 {
		limitTasks(uint64(limit))
	}
	runtime.GOMAXPROCS(1)
	started, done := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			started <- struct{}{}
			<-done
		}()
	}
	for range n {
		<-started
	}
	close(done)
	return 0
}

// limitTasks sets the soft limit of tasks of this process, at most to its hard limit.
func limitTasks(n uint64) {
	const rlimitNproc = 6 // RLIMIT_NPROC, which package syscall lacks
	var limit syscall.Rlimit
	if syscall.Getrlimit(rlimitNproc, &limit) != nil {
		return
	}
	limit.Cur = min(n, limit.Max, math.MaxInt64)
	_ = syscall.Setrlimit(rlimitNproc, &limit) // the limits that are there hold anyway
}
