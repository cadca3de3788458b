//go:build linux

package main

import (
	"flag"
	"fmt"
	"io"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// parseNode parses the flags of the node agent: the powers over the node that containers may
// have. They have the names and the meaning of the operator's.
func parseNode(args []string) (helper.NodeAgent, error) {
	var agent helper.NodeAgent
	flags := flag.NewFlagSet(string(helperapi.VerbNode), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	agent.Allowed.BindFlags(flags, power.OfNode()...)
	if err := flags.Parse(args); err != nil {
		return agent, err
	}
	if flags.NArg() > 0 {
		return agent, fmt.Errorf("%q is too much", flags.Arg(0))
	}
	return agent, nil
}

// printNodeUsage writes the usage of the node agent.
func printNodeUsage(w io.Writer) {
	fmt.Fprint(w, `usage: jmx-attach node [flags]

Waits in the node agent of the JMX exporter operator, whose sessions are execs of 'jmx-attach serve --node'.
It refuses containers with power over the node, unless a flag allows it:

`)
	for _, p := range power.OfNode() {
		fmt.Fprintf(w, "  --%s\n               %s\n", p.Flag, p.Usage())
	}
}
