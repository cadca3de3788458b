//go:build linux

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// prebuilt, an environment variable, makes the tests use the helper in the repository's
// bin, as hack/helper-build writes it: for machines without a Go compiler.
const prebuilt = "JMX_TEST_PREBUILT"

// image is what a container gets from the operator.
type image struct {
	// dir is the directory of a door: the helper, and in agent the jars that it may stage
	// and load.
	dir       string
	artifacts *transport.Artifacts
}

// fakeImage has jars that no JVM loads, and shippedImage those that are shipped.
var (
	fakeImage    = sync.OnceValues(func() (*image, error) { return newImage(jar.Content, exporter.Content) })
	shippedImage = sync.OnceValues(func() (*image, error) {
		var jars [2][]byte
		for i, name := range []string{"agent.jar", "exporter.jar"} {
			content, err := readBuilt("agent/" + name)
			if err != nil {
				return nil, err
			}
			jars[i] = content
		}
		return newImage(jars[0], jars[1])
	})
)

func newImage(agent, exporter []byte) (*image, error) {
	helper, err := helperBinary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "agent"), 0o755); err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{"jmx-attach": helper, "agent/agent.jar": agent, "agent/exporter.jar": exporter} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
			return nil, err
		}
	}
	blob := transport.NewBlob("jmx-attach-", helper, "")
	return &image{dir: dir, artifacts: &transport.Artifacts{
		Helpers:        map[string]transport.Blob{"x86_64": blob, "aarch64": blob},
		Agent:          transport.NewBlob("agent-", agent, ".jar"),
		Implementation: transport.NewBlob("exporter-", exporter, ".jar"),
	}}, nil
}

// helperBinary is the content of the helper for this machine.
var helperBinary = sync.OnceValues(func() ([]byte, error) {
	if os.Getenv(prebuilt) != "" {
		return readBuilt("jmx-attach-" + runtime.GOARCH)
	}
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "jmx-attach")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/jmx-attach")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.ReadFile(binary)
})

// readBuilt reads a file of the repository's bin.
func readBuilt(name string) ([]byte, error) {
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, "bin", name))
}
