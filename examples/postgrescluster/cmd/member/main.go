// Member is PID 1 of a member's pod: member seed, join, run or restore. Member backup makes a
// base backup.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

func main() {
	// The first signal shuts PostgreSQL down without waiting for its clients.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT) //nolint:forbidigo // Nobody calls main.
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		path := os.Getenv(member.EnvTerminationLog)
		if path == "" {
			path = "/dev/termination-log"
		}
		if err := os.WriteFile(path, []byte(err.Error()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "member: the termination message cannot be written:", err)
		}
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := member.Read(os.Args[1:], os.Getenv)
	if err != nil {
		return &member.StartError{Reason: member.Misconfigured, Message: err.Error()}
	}
	config.Log = os.Stderr
	err = config.Start(ctx)
	if f := (*member.StartError)(nil); err != nil && !errors.As(err, &f) {
		err = &member.StartError{Reason: member.PostgresEnded, Message: "The member exited with an unexpected error", Err: err}
	}
	return err
}
