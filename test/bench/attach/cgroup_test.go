//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const uid = "0c5b2d3e-1111-2222-3333-444455556666"

func TestCgroups(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		pod   string
	}{
		"v2, systemd": {map[string]string{
			"cpu.stat": "usage_usec 3000000\nuser_usec 1\n",
			"kubelet.slice/kubelet-kubepods.slice/cpu.stat": "usage_usec 2000000\n",
			"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod0c5b2d3e_1111_2222_3333_444455556666.slice/cpu.stat":             "usage_usec 1000000\n",
			"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod0c5b2d3e_1111_2222_3333_444455556666.slice/cri-1.scope/cpu.stat": "usage_usec 500000\n",
		}, uid},
		"v1, cgroupfs": {map[string]string{
			"cpu/cpu.stat":                           "nr_periods 0\n",
			"cpuacct/cpuacct.usage":                  "3000000000\n",
			"cpuacct/kubelet/kubepods/cpuacct.usage": "2000000000\n",
			"cpuacct/kubelet/kubepods/burstable/pod" + uid + "/cpuacct.usage": "1000000000\n",
		}, uid},
	} {
		t.Run(name, func(t *testing.T) {
			mount := t.TempDir()
			for file, content := range test.files {
				if err := os.MkdirAll(filepath.Join(mount, filepath.Dir(file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(mount, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			groups, err := findCgroups(mount)
			if err != nil {
				t.Fatal(err)
			}
			all, pods, err := groups.pods()
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			for _, group := range []string{groups.root, all, pods[test.pod]} {
				used, err := cpuOf(group)
				if err != nil {
					t.Error(err)
				}
				got = append(got, used)
			}
			if diff := cmp.Diff([]time.Duration{3 * time.Second, 2 * time.Second, time.Second}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if _, err := findCgroups(t.TempDir()); err == nil {
			t.Error("no error")
		}
	})
}

func TestPodUID(t *testing.T) {
	for name, want := range map[string]string{
		"pod" + uid: uid,
		"kubelet-kubepods-pod0c5b2d3e_1111_2222_3333_444455556666":            uid,
		"kubelet-kubepods-besteffort-pod0c5b2d3e_1111_2222_3333_444455556666": uid,
		"kubelet-kubepods-burstable":                                          "",
		"podman":                                                              "",
		"init.scope":                                                          "",
	} {
		if got := podUID(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
