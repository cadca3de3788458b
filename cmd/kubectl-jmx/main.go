// Command kubectl-jmx is the kubectl plugin "kubectl jmx": what the JMX exporter operator
// does, for people. It has no rights but those of its user.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/command"
)

func main() {
	// Client libraries log what is also in the error that they return.
	logging := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(logging)
	_ = logging.Set("logtostderr", "false")
	klog.SetOutput(io.Discard)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := command.New(streams, clock.RealClock{}).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // cancel was called
	}
}
