//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/rpc"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/test/bench/cputime"
)

// insideFlag makes this program serve Inside on its standard streams.
const insideFlag = "inside"

// Inside is what the bench asks of this program in a node: there are the control
// groups, the processes, and a way to the pods' addresses.
type Inside struct {
	groups  cgroups
	kubelet int
	// staged are the JVMs that files were staged for, by the UID of the pod.
	staged sync.Map
}

// serveInside answers calls until standard input ends.
func serveInside() error {
	groups, err := findCgroups("/sys/fs/cgroup")
	if err != nil {
		return err
	}
	in := &Inside{groups: groups, kubelet: find("kubelet")}
	server := rpc.NewServer()
	if err := server.Register(in); err != nil {
		return err
	}
	server.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	return nil
}

// find is the first process of that name; 0 if there is none.
func find(name string) int {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && called(pid, name) {
			return pid
		}
	}
	return 0
}

// A Spent is the CPU time that parts of a node have used so far.
type Spent struct {
	At time.Time
	// Node is all of it, Pods the group of all pods.
	Node, Pods time.Duration
	// Applications are the groups of the pods asked for, Java the JVMs in there.
	Applications, Java time.Duration
	// Operator are the groups of its pods; Kubelet is the process, and Self this one.
	Operator, Kubelet, Self time.Duration
}

// Asked are the UIDs of the pods that Spent is about.
type Asked struct {
	Applications, Operator []string
}

// Spent reads the control groups and clocks of processes.
func (in *Inside) Spent(asked Asked, spent *Spent) error {
	all, pods, err := in.groups.pods()
	if err != nil {
		return err
	}
	for _, uid := range asked.Applications {
		used, err := cpuOf(pods[uid])
		if err != nil {
			return fmt.Errorf("pod %s: %w", uid, err)
		}
		pid, err := java(pods[uid])
		if err != nil {
			return err
		}
		jvm, err := cputime.Of(pid)
		if err != nil {
			return err
		}
		spent.Applications += used
		spent.Java += jvm
	}
	var usage syscall.Rusage
	var failed [5]error
	spent.At = time.Now()
	spent.Node, failed[0] = cpuOf(in.groups.root)
	spent.Pods, failed[1] = cpuOf(all)
	for _, uid := range asked.Operator {
		used, err := cpuOf(pods[uid])
		spent.Operator, failed[2] = spent.Operator+used, errors.Join(failed[2], err)
	}
	if in.kubelet != 0 {
		spent.Kubelet, failed[3] = cputime.Of(in.kubelet)
	}
	failed[4] = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	spent.Self = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return errors.Join(failed[:]...)
}

// get asks a pod over HTTP, once.
func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(body), err
}

// Get asks a pod over HTTP.
func (in *Inside) Get(url string, body *string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	*body, err = get(ctx, url)
	return err
}

// series is what a scrape of the application has.
const series = "dummyapp_requests_total"

// Scrape asks an agent that has just been loaded for its metrics until it answers.
func (in *Inside) Scrape(address string, _ *struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		body, err := get(ctx, "http://"+address+"/metrics")
		switch {
		case err == nil && strings.Contains(body, series):
			return nil
		case err == nil:
			return fmt.Errorf("the scrape of %s has no %s", address, series)
		case ctx.Err() != nil:
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A Staging is the files for a pod, by name.
type Staging struct {
	Pod   string
	Files map[string][]byte
}

// Stage writes files into the container of a pod, from outside.
func (in *Inside) Stage(s Staging, _ *struct{}) error {
	_, pods, err := in.groups.pods()
	if err != nil {
		return err
	}
	pid, err := java(pods[s.Pod])
	if err != nil {
		return err
	}
	in.staged.Store(s.Pod, pid)
	dir := filepath.Join(fmt.Sprintf("/proc/%d/root", pid), agentDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A Loading is what Load loads into the JVM of a pod.
type Loading struct{ Pod, Jar, Options, Address string }

// Load loads an agent from outside of the container, and scrapes it.
func (in *Inside) Load(l Loading, _ *struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	staged, _ := in.staged.Load(l.Pod)
	pid, ok := staged.(int)
	if !ok {
		return fmt.Errorf("nothing is staged in pod %s", l.Pod)
	}
	start, err := jvm.StartTime(pid)
	if err != nil {
		return err
	}
	process, err := jvm.Lookup(pid, start)
	if err != nil {
		return err
	}
	if err := process.Attach(ctx); err != nil {
		return err
	}
	if err := process.LoadAgent(ctx, l.Jar, l.Options); err != nil {
		return err
	}
	return in.Scrape(l.Address, nil)
}
