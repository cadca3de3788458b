//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// errOnlySessions is printed by an exec into a node agent that is not a session.
const errOnlySessions = "jmx-attach: the main process of this container is a node agent, which serves only 'serve --node': a session that checks every container first"

// bypasses reports whether a command would run past the checks of the node agent in whose
// container it was executed: as root, and beside all processes of the node. An exec chooses
// its arguments, but neither its container, nor its capabilities, nor the main process, which
// lasts as long as the container. Where there is no CAP_SYS_PTRACE, as in applications'
// containers, nothing is looked for: a node agent cannot be without it.
func bypasses(args []string) bool {
	verb := helperapi.Verb(args[0])
	switch {
	case verb == helperapi.VerbNode, verb == helper.TrialCommand:
		return false
	case verb == helperapi.VerbServe && len(args) == 2 && (args[1] == helperapi.ServeOnNode || args[1] == serveTarget):
		return false // a child needs its task in the environment
	case !jvm.MayTrace():
		return false
	}
	mains, err := nodeMains()
	return err != nil || len(mains) > 0
}

// nodeArguments returns the arguments of the main process of this container, after its
// verb. It returns nothing, which allows nothing, if there is none, or if there are several
// with different ones: anyone who executes here may start one, and have any process ID.
func nodeArguments() []string {
	mains, err := nodeMains()
	if err != nil || len(mains) == 0 || slices.ContainsFunc(mains, func(args []string) bool { return !slices.Equal(args, mains[0]) }) {
		return nil
	}
	return mains[0]
}

// nodeMains returns the arguments, after the verb, of the processes of VerbNode in this
// container.
func nodeMains() (mains [][]string, err error) {
	err = eachOfThisProgram(helperapi.VerbNode, func(_ jvm.Process, args []string) { mains = append(mains, args) })
	return mains, err
}

// eachOfThisProgram calls do for the other processes of this container that execute this
// program with a verb, with the arguments after it.
func eachOfThisProgram(verb helperapi.Verb, do func(p jvm.Process, args []string)) error {
	processes, err := jvm.Container("").Processes()
	for _, p := range processes {
		if args, err := p.Arguments(); err == nil && len(args) > 0 && args[0] == string(verb) && isThisProgram(p.PID) {
			do(p, args[1:])
		}
	}
	return err
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
