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
		fmt.Fprint(stdout, nodeUsage)
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

// nodeUsage describes the flags, which have the names and meaning of the operator's.
const nodeUsage = `usage: jmx-attach node [flags]

Waits in the node agent of the JMX exporter operator, whose sessions are execs of 'jmx-attach serve --node'.
It refuses containers with power over the node, unless a flag allows it:

  --allow-host-pid, --allow-host-network, --allow-host-ipc
               containers in the node's namespaces
  --allow-privileged
               privileged containers
  --allow-capabilities C,...
               containers with these capabilities, or ALL
  --allow-host-paths P,...
               containers that mount these paths of the node's system, or what is below them
`

// nodeArguments returns the arguments of the main process of this container, after its
// verb; nothing if it does not run, which allows nothing.
func nodeArguments() []string {
	processes, err := jvm.Container("").Processes()
	if err != nil {
		return nil
	}
	for _, p := range processes {
		if args, err := p.Arguments(); err == nil && len(args) > 0 && args[0] == string(helperapi.VerbNode) {
			return args[1:]
		}
	}
	return nil
}
