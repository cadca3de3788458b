//go:build linux

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// exitCheckInterval is how often the door checks whether its target container still runs.
// In most pods the check is redundant, because the door is in the target's PID namespace
// and ends with its process 1; it is needed where the pod shares a PID namespace.
const exitCheckInterval = 30 * time.Second

// terminationLog is the file from which the kubelet reads why a container ended.
const terminationLog = "/dev/termination-log"

// door is the main process of an ephemeral container beside the target container.
// Sessions are execs into it. It waits, and exits if no session was opened for --idle, if
// the target container exited, or if a session requests it.
func door(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(string(helperapi.VerbDoor), flag.ContinueOnError)
	flags.SetOutput(stderr)
	idle := flags.Duration("idle", 10*time.Minute, "end after this `time` without a session; 0 for never")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "usage: jmx-attach door [--idle 10m]")
		return 2
	}
	why := wait(*idle, jvm.Container(os.Getenv(helperapi.DoorTarget)), stdout)
	if log, err := os.OpenFile(terminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		_, _ = io.WriteString(log, why) // informational; the door exits anyway
		log.Close()
	}
	return 0
}

// wait returns the reason for which the door exits.
func wait(idle time.Duration, target jvm.Container, stdout io.Writer) string {
	talked, asked := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(talked, syscall.SIGUSR1)
	signal.Notify(asked, syscall.SIGTERM)
	// Shown in the container's log.
	fmt.Fprintln(stdout, "The JMX exporter operator added this ephemeral container to reach its target; it waits for sessions.")
	var expired <-chan time.Time
	timer := time.NewTimer(idle)
	if idle > 0 {
		expired = timer.C
	}
	check := time.NewTicker(exitCheckInterval)
	for {
		select {
		case <-talked:
			timer.Reset(idle)
		case <-asked:
			return "The agent was removed, or the pod is terminating."
		case <-expired:
			return fmt.Sprintf("No session was opened for %s.", idle)
		case <-check.C:
			if runs, err := target.Processes(); target != "" && err == nil && len(runs) == 0 {
				return "The target container exited."
			}
		}
	}
}

// inDoor runs a session in a door's container: it resets the door's idle timer, and ends
// the door if none of our agents is left in the target container.
func inDoor(stdin io.Reader, stdout io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	signalDoor(syscall.SIGUSR1)
	beside := helper.FindBeside(filepath.Join(filepath.Dir(self), "agent"))
	s := newSession(stdin, stdout, beside, beside.Jars())
	code := s.serve()
	if s.detached {
		signalDoor(syscall.SIGTERM)
	} else {
		signalDoor(syscall.SIGUSR1)
	}
	return code
}

// signalDoor signals the door in this process' container, which runs only doors and
// sessions.
func signalDoor(s syscall.Signal) {
	processes, err := jvm.Container("").Processes()
	if err != nil {
		return
	}
	for _, p := range processes {
		handle, err := os.FindProcess(p.PID)
		if err != nil {
			continue
		}
		if args, err := p.Arguments(); err == nil && len(args) > 0 && args[0] == string(helperapi.VerbDoor) {
			_ = handle.Signal(s) // it may have exited
		}
		_ = handle.Release() // always returns nil
	}
}
