// Pulsar-consumer subscribes to a Pulsar topic, and logs and acknowledges each message.
// PULSAR_SERVER, PULSAR_TOPIC and PULSAR_SUBSCRIPTION_NAME name them. Its termination
// message says why it exited.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/app/consumer"
)

// terminationLog is the file that the kubelet reads a termination message from.
const terminationLog = "/dev/termination-log"

// healthAddress is where the kubelet probes readiness.
const healthAddress = ":8080"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // main has no caller
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if err := os.WriteFile(terminationLog, []byte(err.Error()), 0o644); err != nil { //nolint:gosec // the kubelet reads it
			fmt.Fprintln(os.Stderr, "writing the termination message failed:", err)
		}
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := consumer.Options{
		Messages:      slog.New(slog.NewTextHandler(os.Stdout, nil)),
		Log:           slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		CheckInterval: consumer.CheckInterval,
	}
	for variable, value := range map[string]*string{
		"PULSAR_SERVER": &options.Server, "PULSAR_TOPIC": &options.Topic, "PULSAR_SUBSCRIPTION_NAME": &options.Subscription,
	} {
		if *value = os.Getenv(variable); *value == "" {
			return fmt.Errorf("the variable %s is empty", variable)
		}
	}
	c := consumer.New(options)
	mux := http.NewServeMux()
	mux.Handle("GET /ready", c)
	server := &http.Server{Addr: healthAddress, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	defer func() { _ = server.Close() }()
	consumed := make(chan error, 1)
	go func() { consumed <- c.Run(ctx) }()
	select {
	case err := <-failed:
		return err
	case err := <-consumed:
		return err
	}
}
