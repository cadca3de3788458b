//go:build linux

package hostile

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// asJVM, an environment variable, makes this binary imitate a JVM: see fakeJVM.
const asJVM = "HOSTILE_JVM"

func TestMain(m *testing.M) {
	if does := os.Getenv(asJVM); does != "" {
		fakeJVM(does)
	}
	flag.Parse()
	// Rows take processors from each other by their places, and mostly wait.
	if err := flag.Set("test.parallel", "200"); err != nil {
		panic(err)
	}
	jvmtest.Main(m)
}

// helperBinary is the helper, built once, in a directory with the jars that it may stage and load.
var helperBinary = sync.OnceValues(func() (string, error) {
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "jmx-attach")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/jmx-attach")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	// Beside the helper, as in the operator's image.
	beside := filepath.Join(dir, "agent")
	return binary, errors.Join(os.Mkdir(beside, 0o755),
		os.WriteFile(filepath.Join(beside, "agent.jar"), jar.Content, 0o644), os.WriteFile(filepath.Join(beside, "exporter.jar"), exporter.Content, 0o644))
})
