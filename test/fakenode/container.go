//go:build linux

package fakenode

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Container is one container, until it restarts.
type Container struct {
	JVMs []*JVM
	// Busy are ports on which a foreign process listens.
	Busy []int32
	// Helper reports that the helper was left in the container, and Looks counts the
	// inspections that searched for Java.
	Helper bool
	Looks  int
	// Exposed: whoever shares its /tmp may replace files there.
	Exposed bool
	// Fault is the error of every exec; Hangs makes every exec block.
	Fault error
	Hangs bool
	// NoShell: there is no shell for an exec.
	NoShell bool
	// ID is the runtime's ID, with its scheme; the helper reports it.
	ID string
	// Log is what the container's log says.
	Log string

	// all are the containers that it is one of, and pod the UID of its pod.
	all *Containers
	pod types.UID
	// tmp is the path of its /tmp on disk.
	tmp string
	// exited is closed when the container ends.
	exited chan struct{}
}

// newContainer returns a container with an empty /tmp.
func newContainer(all *Containers, pod types.UID, jvms []*JVM) *Container {
	tmp, err := os.MkdirTemp(all.dir, "container-")
	if err != nil {
		panic(err) // a test cannot go on without its directory
	}
	return &Container{JVMs: jvms, all: all, pod: pod, tmp: tmp, exited: make(chan struct{})}
}

// hasExited reports whether the container has ended.
func (c *Container) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// meanwhile calls do while other operations go on. The caller holds the mutex of all
// containers.
func (c *Container) meanwhile(do func()) {
	c.all.mu.Unlock()
	defer c.all.mu.Lock()
	do()
}

// open opens the agent directory; fs.ErrNotExist if there is none, unless it is created.
func (c *Container) open(create bool) (*directory.Directory, error) {
	tmp, err := os.OpenRoot(c.tmp)
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return directory.Open(tmp, create, nil)
}

// Files returns the names of all files in the agent directory, and whether a directory
// exists.
func (c *Container) Files() (names []string, exists bool) {
	dir, err := c.open(false)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	defer dir.Close()
	names = dir.Names()
	slices.Sort(names)
	return names, true
}

// Partial returns the names of files whose content is not the one that their name states.
func (c *Container) Partial() (names []string) {
	dir, err := c.open(false)
	if err != nil {
		return nil
	}
	defer dir.Close()
	for _, name := range dir.Names() {
		want, shared := helperapi.FileDigest(name)
		content, err := dir.ReadFile(name)
		if got, _ := helperapi.FileDigest(helperapi.NewFile("agent-", content, ".jar").Name); shared && (err != nil || got != want) {
			names = append(names, name)
		}
	}
	return names
}

// AgentDirectory returns the path of its agent directory on disk, whether or not one exists.
func (c *Container) AgentDirectory() string {
	return filepath.Join(c.tmp, filepath.Base(helperapi.AgentDirectory))
}

// RemoveFiles empties its /tmp.
func (c *Container) RemoveFiles() {
	if err := os.RemoveAll(c.AgentDirectory()); err != nil {
		panic(err)
	}
}

// has reports whether the agent directory has a file, complete.
func (c *Container) has(file helperapi.File) bool {
	dir, err := c.open(false)
	if err != nil {
		return false
	}
	defer dir.Close()
	return dir.Has(file)
}

// put stages what has arrived of a file.
func (c *Container) put(blob transport.Blob) error {
	dir, err := c.open(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Stage(blob.File, bytes.NewReader(blob.Content))
}

// leave removes the helper, and the agent directory if it is empty then.
func (c *Container) leave(helper string) {
	_ = os.Remove(filepath.Join(c.AgentDirectory(), helper))
	_ = os.Remove(c.AgentDirectory())
}

// listening are the ports in the pod with a listener: its containers share a network.
func (c *Container) listening() []int32 {
	var ports []int32
	for at, each := range c.all.all {
		if at.Pod != c.pod {
			continue
		}
		ports = append(ports, each.Busy...)
		for _, j := range each.JVMs {
			ports = append(ports, j.ports()...)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// jvm returns the JVM of a request; nil if it is gone.
func (c *Container) jvm(request helperapi.Request) *JVM {
	i := slices.IndexFunc(c.JVMs, func(j *JVM) bool { return j.Target == *request.Target })
	if i < 0 {
		return nil
	}
	return c.JVMs[i]
}

// process is a JVM as the agent directory knows it.
func (j *JVM) process() jvm.Process {
	return jvm.Process{PID: j.PID, NamespacePID: j.PID, StartTime: j.StartTime, UID: j.UID, GID: j.GID}
}
