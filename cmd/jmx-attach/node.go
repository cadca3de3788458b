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
