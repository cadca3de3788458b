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

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

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
	return 0
}

// nodeArguments returns the arguments of the main process of this container, after its
// verb; nothing if it does not run, which allows nothing.
func nodeArguments() []string {
	processes, err := jvm.Container("").Processes()
	if err != nil {
		return nil
	}
	for _, p := range processes {
		if args, err := p.Arguments(); err == nil && len(args) > 0 && args[0] == string(helperapi.VerbNode) && isThisProgram(p.PID) {
			return args[1:]
		}
	}
	return nil
}

// isThisProgram reports whether a process executes the same file as this one.
func isThisProgram(pid int) bool {
	ours, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && os.SameFile(ours, its)
}
