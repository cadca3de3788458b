//go:build linux

package jvm

import (
	"strings"
	"testing"
)

// Containers are recognized by the control group names of the runtimes.
func TestContainerNamed(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for name, tc := range map[string]struct {
		groups string
		want   bool
	}{
		"containerd":                     {"0::/kubepods/pod1/" + id + "\n", true},
		"containerd, systemd":            {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n", true},
		"CRI-O":                          {"0::/kubepods.slice/crio-" + id + ".scope\n", true},
		"from a namespace beside it":     {"0::/../cri-containerd-" + id + ".scope\n", true},
		"a prefix with a colon":          {"0::/system.slice/pod1:cri-containerd:" + id + "\n", true},
		"a group below it":               {"0::/kubepods/pod1/" + id + "/init.scope\n", true},
		"version 1":                      {"12:pids:/kubepods/pod1/" + id + "\n1:name=systemd:/kubepods/pod1/" + id + "\n", true},
		"another one":                    {"0::/kubepods/pod1/" + strings.Repeat("0b", 32) + "\n", false},
		"the end of another one's":       {"0::/kubepods/pod1/ff" + id + "\n", false},
		"the beginning of another one's": {"0::/kubepods/pod1/" + id + "ff\n", false},
		"our own namespace":              {"0::/\n", false},
		"nothing that can be read":       {"", false},
	} {
		if got := Container(id).named(tc.groups); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
