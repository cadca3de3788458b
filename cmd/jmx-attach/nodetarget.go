//go:build linux

package main

import (
	"flag"
	"io"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// targetChecker refuses the targets that the node agent does not reach. It is safe for
// concurrent use.
type targetChecker interface {
	// Check returns the refusal of a target, a *helperapi.Error, or nil.
	Check(helperapi.NodeTarget) error
}

// parseNode parses the flags of the node agent.
func parseNode(args []string) (targetChecker, error) {
	var allowed allowances
	flags := flag.NewFlagSet(string(helperapi.VerbNode), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, name := range []string{"allow-host-pid", "allow-host-network", "allow-host-ipc", "allow-privileged"} {
		flags.Bool(name, false, "")
	}
	for _, name := range []string{"allow-capabilities", "allow-host-paths"} {
		flags.Var(&list{}, name, "")
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return allowed, nil
}

type allowances struct{}

func (allowances) Check(helperapi.NodeTarget) error { return nil }

// list is a flag with values that are separated by commas, or in repeated flags.
type list []string

// String implements flag.Value.
func (l *list) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *list) Set(value string) error {
	*l = append(*l, strings.Split(value, ",")...)
	return nil
}
