//go:build linux

// Command jmx-attach makes running Java processes serve their MBeans to Prometheus, and
// undoes that. The operator runs sessions of it in containers; it is also a command-line
// tool for any Linux host.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

var verbs = []helperapi.Verb{
	helperapi.VerbInspect, helperapi.VerbStage, helperapi.VerbLoad, helperapi.VerbCheck, helperapi.VerbStatus, helperapi.VerbUnload, helperapi.VerbProbe,
}

func main() {
	// The process is short-lived and uses memory and threads of the application's
	// container: four threads, or five while it acts as the JVM's user. If the container
	// has none left, Go's runtime ends the process and says so; the stacks help nobody.
	runtime.GOMAXPROCS(1)
	debug.SetTraceback("none")
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(16 << 20)
	// If memory runs out, the kernel should kill this process and not the application
	// (proc_pid_oom_score_adj(5)). Raising the value needs no privilege.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	hideFromDebuggers()
	// An operation must finish even if the caller disconnects.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)

	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// hideFromDebuggers keeps processes of the same user, such as the JVM, from reading this
// process' memory, and from tracing it to answer in its place (PR_SET_DUMPABLE in prctl(2)).
// The files in /proc/<pid> belong to root from then on; a process may still read its own.
func hideFromDebuggers() {
	const prSetDumpable = 4                                              // PR_SET_DUMPABLE
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) // it cannot fail
}

// run runs the command line and returns the exit code: 0 on success, 1 on a failure that
// the report describes, 2 for an invalid command line.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return 0
	case "-version", "--version", "version":
		fmt.Fprintln(stdout, version)
		return 0
	}
	if bypasses(args) {
		fmt.Fprintln(stderr, errOnlySessions)
		return 2
	}
	verb := helperapi.Verb(args[0])
	switch {
	case verb == helperapi.VerbServe && slices.Equal(args[1:], []string{helperapi.ServeInDoor}):
		return inDoor(stdin, stdout)
	case verb == helperapi.VerbServe && slices.Equal(args[1:], []string{helperapi.ServeOnNode}):
		return onNode(stdin, stdout, stderr)
	case verb == helperapi.VerbServe && slices.Equal(args[1:], []string{serveTarget}):
		return onTarget(stdin, stdout, stderr)
	case verb == helperapi.VerbServe:
		return newSession(stdin, stdout, nil, append(helper.Jars{}, args[1:]...)).serve()
	case verb == helperapi.VerbDoor:
		return door(args[1:], stdout, stderr)
	case verb == helperapi.VerbNode:
		return node(args[1:], stdout, stderr)
	case verb == helper.TrialCommand:
		return helper.Trial(args[1:])
	}
	if !slices.Contains(verbs, verb) {
		fmt.Fprintf(stderr, "jmx-attach: there is no command %q; see jmx-attach --help\n", args[0])
		return 2
	}
	return command(verb, args[1:], stdout, stderr)
}
