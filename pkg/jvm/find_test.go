//go:build linux

package jvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestFindListsAll(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, jvmtest.Options{}), jdk.Start(t, jvmtest.Options{User: nobody})
	called := filepath.Join(t.TempDir(), "java") // and none
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, called); err != nil {
		t.Fatal(err)
	}
	jvmtest.Run(t, exec.Command(sleep, "3600"))
	jvmtest.Run(t, exec.Command(called, "3600"))
	processes, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range processes {
		pids = append(pids, p.PID)
	}
	if diff := cmp.Diff([]int{one.PID, other.PID}, pids); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
}
