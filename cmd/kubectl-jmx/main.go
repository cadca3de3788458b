// Command kubectl-jmx is the kubectl plugin "kubectl jmx": what the JMX exporter operator
// does, as its users see and steer it. It has no rights but those of its user.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime/pkg/log"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/command"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func main() {
	if err := run(); err != nil {
		// It may quote what a container or the API server responded.
		fmt.Fprintln(terminal.Writer(os.Stderr), "error:", err)
		os.Exit(1)
	}
}

func run() error {
	// Client libraries log what is also in the error that they return.
	logging := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(logging)
	if err := logging.Set("logtostderr", "false"); err != nil {
		return err
	}
	klog.SetOutput(io.Discard)
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return command.New(streams, clock.RealClock{}).ExecuteContext(ctx)
}
