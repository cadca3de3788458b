package cgroup

import (
	"maps"
	"testing"
)

func TestFreeTasks(t *testing.T) {
	pids := func(dir, limit, current string) map[string]string {
		return map[string]string{dir + "/pids.max": limit, dir + "/pids.current": current}
	}
	both := pids("sys/fs/cgroup/pod", "50\n", "45\n")
	maps.Copy(both, pids("sys/fs/cgroup/pod/app", "40\n", "20\n"))
	for name, tc := range map[string]struct {
		groups, mounts string
		tree           map[string]string
		limit, free    int64 // limit -1 for none
	}{
		"v2":           {groups: "0::/\n", mounts: mountV2, tree: pids("sys/fs/cgroup", "100\n", "64\n"), limit: 100, free: 36},
		"v2, no limit": {groups: "0::/\n", mounts: mountV2, tree: pids("sys/fs/cgroup", "max\n", "64\n"), limit: -1},
		"v2, more used than a limit that was lowered":    {groups: "0::/\n", mounts: mountV2, tree: pids("sys/fs/cgroup", "5\n", "64\n"), limit: 5, free: 0},
		"v2, the root of the node has no such files":     {groups: "0::/\n", mounts: mountV2, limit: -1},
		"v2, the group above has fewer":                  {groups: "0::/pod/app\n", mounts: mountV2, tree: both, limit: 50, free: 5},
		"v1":                                             {groups: "8:pids:/\n0::/\n", mounts: "1 0 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", tree: pids("sys/fs/cgroup/pids", "7\n", "3\n"), limit: 7, free: 4},
		"v1, the limit of memory is another hierarchy's": {groups: "4:memory:/\n", mounts: mountV1, tree: pids("sys/fs/cgroup/memory", "7\n", "3\n"), limit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, limited := tree(t, tc.groups, tc.mounts, tc.tree).freeTasks(7)
			if limited != (tc.limit >= 0) {
				t.Fatalf("limited is %v: %+v", limited, got)
			}
			if limited && (got.Limit != tc.limit || got.Free() != tc.free) {
				t.Errorf("%d of %d are free, want %d of %d", got.Free(), got.Limit, tc.free, tc.limit)
			}
		})
	}
}
