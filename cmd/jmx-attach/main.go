//go:build linux

// Command jmx-attach makes running Java processes serve their MBeans to
// Prometheus, and takes that back. The operator runs it in containers, with a
// request on its standard input; people run it on any Linux host.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// version is set when the helper is built: -ldflags "-X main.version=…".
var version = "devel"

var verbs = []attach.Verb{
	attach.VerbInspect, attach.VerbStage, attach.VerbLoad, attach.VerbStatus, attach.VerbUnload, attach.VerbProbe,
}

func main() {
	// It lives on the memory of the application's container, and not for long.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(16 << 20)
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
	verb := attach.Verb(args[0])
	if !slices.Contains(verbs, verb) {
		fmt.Fprintf(stderr, "jmx-attach: there is no command %q; see jmx-attach --help\n", args[0])
		return 2
	}
	if len(args) == 2 && (args[1] == "--request" || args[1] == "-request") {
		return serve(verb, stdin, stdout)
	}
	return command(verb, args[1:], stdout, stderr)
}

// The longest that the helper lives, whatever its surroundings do: a remote
// command outlives the connection that started it.
const (
	lifetime        = attach.Timeout + 5*time.Second
	stagingLifetime = time.Minute // the blobs come through the API server
)

// serve answers one request of the operator.
func serve(verb attach.Verb, stdin io.Reader, stdout io.Writer) int {
	life := lifetime
	if verb == attach.VerbStage {
		life = stagingLifetime
	}
	watchdog := time.AfterFunc(life, func() {
		os.Exit(answer(stdout, attach.Report{HelperVersion: version, Error: &attach.Error{
			Reason: attach.ReasonAttachTimeout, Message: fmt.Sprintf("the helper was not done after %s", life),
		}}))
	})
	req, blobs, err := attach.ReadRequest(stdin)
	if err != nil {
		return answer(stdout, attach.Report{HelperVersion: version, Error: err})
	}
	report := attach.Helper{Version: version}.Do(context.Background(), verb, req, blobs)
	if !watchdog.Stop() {
		select {} // the watchdog is answering
	}
	return answer(stdout, report)
}

// answer writes a report, and returns the exit code that belongs to it.
func answer(stdout io.Writer, report attach.Report) int {
	encoder := json.NewEncoder(stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(report); err != nil || report.Error != nil {
		return 1
	}
	return 0
}
