package power

import (
	"strconv"
	"testing"
)

// A refusal names some of what was found, not all: a container chooses how much that is.
func TestRefusal(t *testing.T) {
	paths := func(n int) (paths []string) {
		for i := range n {
			paths = append(paths, "/etc/"+strconv.Itoa(i))
		}
		return paths
	}
	for name, test := range map[string]struct {
		found   Found
		allowed Allowed
		want    string
	}{
		"none":        {Found{HostPaths, nil}, nil, ""},
		"no list":     {Found{HostPID, []string{""}}, nil, "It shares the node's process IDs (hostPID); the operator does not attach to it. To allow that, start the operator with --allow-host-pid."},
		"five":        {Found{HostPaths, paths(5)}, nil, "It mounts hostPath volumes of the node's system (/etc/0, /etc/1, /etc/2, /etc/3, /etc/4); the operator does not attach to it. To allow that, start the operator with --allow-host-paths=/etc/0,/etc/1,/etc/2,/etc/3,/etc/4."},
		"many":        {Found{HostPaths, paths(1000)}, nil, "It mounts hostPath volumes of the node's system (/etc/0, /etc/1, /etc/2, /etc/3, /etc/4 and 995 more); the operator does not attach to it. To allow that, start the operator with --allow-host-paths=/etc/0,/etc/1,/etc/2,/etc/3,/etc/4,…."},
		"the last":    {Found{HostPaths, append(paths(1000), "/root")}, Allowed{"allow-host-paths": {"/etc"}}, "It mounts hostPath volumes of the node's system (/root); the operator does not attach to it. To allow that, start the operator with --allow-host-paths=/root."},
		"all allowed": {Found{HostPaths, paths(1000)}, Allowed{"allow-host-paths": {"/etc"}}, ""},
	} {
		if got := test.allowed.Refusal("It", "the operator", []Found{test.found}); got != test.want {
			t.Errorf("%s: got %.300q, want %q", name, got, test.want)
		}
	}
}
