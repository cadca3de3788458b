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
	"strconv"
	"strings"
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
	out   *bufio.Reader
}

// start starts a subject, and returns when it has nothing more to do.
func (b *bench) start(ctx context.Context, jdk jdk, s subject) (*application, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	arguments := append(s.options, "-cp", b.dir, "Subject", strconv.Itoa(s.series))
	a := &application{input: write}
	a.cmd = exec.CommandContext(ctx, filepath.Join(jdk.home, "bin/java"), arguments...)
	a.cmd.Stdin, a.cmd.Stderr = read, &a.log
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	a.pid, a.out = a.cmd.Process.Pid, bufio.NewReader(out)
	ready := make(chan struct{})
	go func() {
		if _, err := a.out.ReadString('\n'); err == nil {
			close(ready)
		}
	}()
	select {
	case <-ready:
		return a, nil
	case <-time.After(time.Minute):
		a.stop()
		return nil, errors.New("the application does not start: " + a.output())
	}
}

// stop ends the application's input, and so the application.
func (a *application) stop() {
	a.input.Close()
	if err := a.cmd.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "the application ended with", err, a.output())
	}
}

func (a *application) output() string { return strings.TrimSpace(a.log.String()) }
