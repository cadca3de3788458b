//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A subject is an application of one size.
type subject struct {
	series int
	// options of its JVM.
	options []string
}

// subjectFor is as small as an application of that many series can be. A heap
// whose pages are all touched from the start does not show up in what is measured
// of memory; neither do the threads of a parallel collector.
func subjectFor(series int) subject {
	options := []string{"-XX:+UseSerialGC", "-XX:+AlwaysPreTouch"}
	switch {
	case series < manySeries:
		options = append(options, "-Xms24m", "-Xmx24m", "-XX:TieredStopAtLevel=1")
	case series == manySeries:
		options = append(options, "-Xms256m", "-Xmx256m")
	default:
		options = append(options, "-Xms1g", "-Xmx1g")
	}
	return subject{series, options}
}

// small reports whether what an agent does by itself is measured, too.
func (s subject) small() bool { return s.series < manySeries }

// A jdk is a Java runtime.
type jdk struct {
	home, version string
}

// findJDK returns the first JDK of a major version in /usr/lib/jvm or in
// JMX_TEST_JVMS, a list of java.home directories separated by colons.
func findJDK(major int) (jdk, error) {
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	homes = append(homes, filepath.SplitList(os.Getenv("JMX_TEST_JVMS"))...)
	line := regexp.MustCompile(`(?m)^JAVA_VERSION="((?:1\.)?(\d+)[^"]*)`)
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if m := line.FindSubmatch(release); err == nil && m != nil && string(m[2]) == strconv.Itoa(major) {
			return jdk{home, string(m[1])}, nil
		}
	}
	return jdk{}, fmt.Errorf("no JDK %d: install it into /usr/lib/jvm or name its home in JMX_TEST_JVMS", major)
}

// An application is a JVM that runs the subject.
type application struct {
	pid   int
	cmd   *exec.Cmd
	log   bytes.Buffer
	input *os.File
	// lines are what it says; closed when it ends.
	lines  chan string
	pauses string
}

// start starts a subject, and returns when it has nothing more to do.
func (b *bench) start(ctx context.Context, jdk jdk, s subject) (*application, error) {
	inputRead, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inputRead.Close()
	output, outputWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer outputWrite.Close()
	a := &application{input: input, lines: make(chan string, 1), pauses: b.file("gc.log")}
	arguments := append(slices.Clone(s.options), "-Xlog:gc:file="+a.pauses, "-cp", b.dir, "Subject", strconv.Itoa(s.series))
	a.cmd = exec.CommandContext(ctx, filepath.Join(jdk.home, "bin/java"), arguments...)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = inputRead, outputWrite, &a.log
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	a.pid = a.cmd.Process.Pid
	go func() {
		defer close(a.lines)
		defer output.Close()
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			a.lines <- scanner.Text()
		}
	}()
	if _, err := a.line(); err != nil {
		a.stop()
		return nil, err
	}
	return a, nil
}

// line returns what the application says next.
func (a *application) line() (string, error) {
	select {
	case line, said := <-a.lines:
		if !said {
			return "", errors.New("the application has ended: " + a.output())
		}
		return line, nil
	case <-time.After(time.Minute):
		return "", errors.New("the application says nothing for a minute: " + a.output())
	}
}

// ask gives the application a command, and returns what it says.
func (a *application) ask(command string) (string, error) {
	if _, err := a.input.WriteString(command); err != nil {
		return "", err
	}
	return a.line()
}

// allocated returns how many bytes its threads have allocated, except the one that
// says it. The first time, this loads classes.
func (a *application) allocated() (int64, error) {
	said, err := a.ask("a")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

// exit returns how long the application takes to exit after SIGTERM.
func (a *application) exit() (time.Duration, error) {
	if _, err := a.ask("w"); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	for range a.lines { // Its output ends with it.
	}
	return time.Since(start), nil
}

// stop ends the application's input, and so the application, unless it has ended.
func (a *application) stop() {
	a.input.Close()
	var exited *exec.ExitError
	if err := a.cmd.Wait(); err != nil && !(errors.As(err, &exited) && exited.ExitCode() == 128+int(syscall.SIGTERM)) {
		fmt.Fprintln(os.Stderr, "the application ended with", err, a.output())
	}
}

func (a *application) output() string { return strings.TrimSpace(a.log.String()) }
