//go:build linux

package helper

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Mounts and control groups from the kernel: a container can name both.
func FuzzHello(f *testing.F) {
	id := strings.Repeat("0123456789abcdef", 4)
	f.Add("1 2 0:3 /var/lib/kubelet/pods/8f0c/containers/app/1a2b3c4d /dev/termination-log rw - ext4 /dev/sda rw\n", "0::/kubepods/pod1/"+id+"\n")
	f.Add("1 2 0:3 /kubepods/pod1/"+id+" /sys/fs/cgroup/memory rw - cgroup none rw,memory\n", "9:memory:/kubepods/pod1/"+id+"\n1:name=systemd:/\n")
	f.Add("1 2 8:1 /a\\040b/pods/8f0c/etc-hosts /etc/hosts - - - \n - \n", ":::\n0::/..\n")
	f.Fuzz(func(t *testing.T, mountinfo, cgroup string) {
		if id := containerID(mountinfo, cgroup); id != "" && !helperapi.IsSHA256(id) {
			t.Errorf("container %q", id)
		}
		if instance := instance(mountinfo); instance != "" && !strings.Contains(mountinfo, instance) {
			t.Errorf("instance %q", instance)
		}
		inPod(mountinfo, "8f0c")
	})
}

// A response from any server on a port of the container.
func FuzzPage(f *testing.F) {
	f.Add("HTTP/1.0 200 OK\r\n\r\n# HELP x\njmx_scrape_error 0.0\n")
	f.Add("HTTP/1.1 99999999999999999999 \r\n")
	f.Add("Exporter is healthy.\n\x00\x1b\xff")
	f.Fuzz(func(t *testing.T, page string) {
		_, _ = statusCode(page)
		found, err := isStockPage(bufio.NewReader(strings.NewReader(page)))
		if text := strings.ToLower(page); err != nil || found && !strings.Contains(text, stockHealth) && !strings.Contains(text, stockMetric) {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// The desired file, in a directory that the container may be able to write.
func FuzzDesiredFile(f *testing.F) {
	f.Add([]byte("config=%2Ftmp%2Fconfig-1.yaml&port=9404&protocol=1&state=running&token=x&reloads.before=1"))
	f.Add([]byte("a=1;b=2&%zz\x00\xff"))
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	dir, err := directory.Open(root, true, nil)
	if err != nil {
		f.Fatal(err)
	}
	defer dir.Close()
	const name = "1-1.desired"
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(filepath.Join(root.Name(), filepath.Base(helperapi.AgentDirectory), name), content, 0o644); err != nil {
			t.Fatal(err)
		}
		read := dir.ReadDesired(name)
		if helperapi.Count(read, reloadsBefore) != nil && !read.Has(reloadsBefore) {
			t.Error("a count out of nothing")
		}
		if len(read.Encode()) > 3*(16<<10)+2 {
			t.Errorf("%d bytes are kept", len(read.Encode()))
		}
	})
}

// Names of open files.
func FuzzJarName(f *testing.F) {
	for _, name := range []string{"agent-0123456789ab.jar", "/tmp/.jmx-exporter/agent-0123456789ab.jar"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if isAgentJar(name) && isStockJar(name) {
			t.Errorf("%q is two jars", name)
		}
	})
}
