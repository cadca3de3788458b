//go:build linux

// Command jmx-attach makes running Java processes serve their MBeans to
// Prometheus, and takes that back. The operator holds a session with it in containers;
// people run it on any Linux host.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// version is set where two helpers are to differ: -ldflags "-X main.version=…".
var version = "devel"

var verbs = []helperapi.Verb{
	helperapi.VerbInspect, helperapi.VerbStage, helperapi.VerbLoad, helperapi.VerbStatus, helperapi.VerbUnload, helperapi.VerbProbe,
}

func main() {
	// It lives on the memory of the application's container, and not for long.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(16 << 20)
	// Where memory runs out, it is this process that goes, and not the application
	// (proc_pid_oom_score_adj(5)). A value may always be raised.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// Who started it may be gone before it is done; it is to finish all the same.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)

	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit code. 0: done. 1: not
// done, the report says why. 2: the command line makes no sense.
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
	verb := helperapi.Verb(args[0])
	switch {
	case verb == helperapi.VerbServe && slices.Equal(args[1:], []string{helperapi.ServeInDoor}):
		return inDoor(stdin, stdout)
	case verb == helperapi.VerbServe:
		return newSession(stdin, stdout, nil, append(helper.Jars{}, args[1:]...)).serve()
	case verb == helperapi.VerbDoor:
		return door(args[1:], stdout, stderr)
	}
	if !slices.Contains(verbs, verb) {
		fmt.Fprintf(stderr, "jmx-attach: there is no command %q; see jmx-attach --help\n", args[0])
		return 2
	}
	return command(verb, args[1:], stdout, stderr)
}
