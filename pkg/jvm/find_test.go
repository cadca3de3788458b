//go:build linux

package jvm

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestFindListsAll(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, jvmtest.Options{}), jdk.Start(t, jvmtest.Options{User: nobody})
	jvmtest.Run(t, exec.Command("sleep", "3600"))
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
