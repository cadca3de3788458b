//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// leaveTimeout is how long the main process waits at its end for the operations that are under
// way. It is longer than any but staging, which is harmless to break off, and shorter than
// terminationGracePeriodSeconds of the DaemonSet.
const leaveTimeout = 25 * time.Second

// node is the main process of the node agent. Sessions are execs into its container, which
// read its flags. It waits.
func node(args []string, stdout, stderr io.Writer) int {
	_, err := parseNode(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printNodeUsage(stdout)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "jmx-attach node: %v; see jmx-attach node --help\n", err)
		return 2
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	fmt.Fprintln(stdout, "The JMX exporter operator reaches the containers of this node through this agent; it waits for sessions.")
	<-asked
	endSessions()
	return 0
}

// endSessions asks the sessions, and their children, to end after what they are at: with the
// main process, the runtime kills all of the container, also in the middle of an attach.
func endSessions() {
	for end := time.Now().Add(leaveTimeout); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		left := false
		_ = eachOfThisProgram(helperapi.VerbServe, func(p jvm.Process, args []string) { // otherwise it ends at once
			if len(args) != 1 || args[0] != helperapi.ServeOnNode && args[0] != serveTarget {
				return
			}
			left = true
			terminate(p)
		})
		if !left {
			return
		}
	}
}

// terminate sends SIGTERM to a process, and to no successor with its PID: the node agent sees
// all processes of the node. So the handle is opened before the check, and without a pidfd
// (Linux 5.4, or a seccomp filter) nothing is sent: the process is then waited for only.
func terminate(p jvm.Process) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return // it has exited
	}
	defer func() { _ = handle.Release() }() // always returns nil
	started, err := jvm.StartTime(p.PID)
	if err != nil || started != p.StartTime || handle.WithHandle(func(uintptr) {}) != nil {
		return
	}
	_ = handle.Signal(syscall.SIGTERM) // it may have exited
}
