package cgroup

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

const mib = 1 << 20

// Lines of /proc/self/mountinfo in a container.
const (
	mountV2       = "1 0 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
	mountV1       = "1 0 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	mountV1Shared = "1 0 0:26 /kubepods/pod1/c1 /sys/fs/cgroup/memory ro shared:9 master:5 - cgroup cgroup rw,memory\n"
	mountV1CPU    = "2 0 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountHybrid   = "3 0 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

// unlimitedV1 is the limit of a group without one in version 1.
const unlimitedV1 = "9223372036854771712\n"

// groupV2 and groupV1 return the files of a group.
func groupV2(dir, limit, high, current, inactive string) map[string]string {
	return map[string]string{
		dir + "/memory.max": limit, dir + "/memory.high": high, dir + "/memory.current": current,
		dir + "/memory.stat": "anon 1\nfile 2\ninactive_file " + inactive + "\nactive_file 1048576\n",
	}
}

func groupV1(dir, limit, hierarchical, usage, inactive string) map[string]string {
	return map[string]string{
		dir + "/memory.limit_in_bytes": limit, dir + "/memory.usage_in_bytes": usage,
		dir + "/memory.stat": "cache 0\ninactive_file 0\nhierarchical_memory_limit " + hierarchical + "total_inactive_file " + inactive + "\n",
	}
}

// tree creates files, and those of proc for process 7 with these groups and mounts.
func tree(t *testing.T, groups, mounts string, tree map[string]string) files {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{}
	maps.Copy(all, tree)
	if groups != "" {
		all["proc/7/cgroup"], all["proc/self/mountinfo"] = groups, mounts
	}
	for name, content := range all {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files(root)
}

func TestFreeMemory(t *testing.T) {
	const (
		m10, m40, m64, m100, m200 = "10485760\n", "41943040\n", "67108864\n", "104857600\n", "209715200\n"
		v2Dir, v1Dir              = "sys/fs/cgroup", "sys/fs/cgroup/memory"
	)
	join := func(trees ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, tree := range trees {
			maps.Copy(all, tree)
		}
		return all
	}
	for name, tc := range map[string]struct {
		groups, mounts string
		tree           map[string]string
		limit, free    int64 // MiB
	}{
		"v2": {groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, m100, "max\n", m64, "0"), limit: 100, free: 36},
		"v2, page cache that was not used lately is free": {
			groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, m100, "max\n", m100, "10485760"), limit: 100, free: 10,
		},
		"v2, no limit":          {groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, "max\n", "max\n", m64, "0"), limit: -1},
		"v2, throttled before":  {groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, m200, m100, m64, "0"), limit: 100, free: 36},
		"v2, throttled already": {groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, m200, m40, m64, "0"), limit: 40, free: 0},
		"v2, more used than a limit that was lowered": {
			groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, m40, "max\n", m64, "0"), limit: 40, free: 0,
		},
		"v2, a group above is tighter": {
			groups: "0::/pod/app\n", mounts: mountV2, limit: 100, free: 0,
			tree: join(groupV2(v2Dir+"/pod/app", m64, "max\n", m40, "0"), groupV2(v2Dir+"/pod", m100, "max\n", m100, "0"), groupV2(v2Dir, "max\n", "max\n", m200, "0")),
		},
		"v2, a group above is wider": {
			groups: "0::/pod/app\n", mounts: mountV2, limit: 64, free: 24,
			tree: join(groupV2(v2Dir+"/pod/app", m64, "max\n", m40, "0"), groupV2(v2Dir+"/pod", m200, "max\n", m100, "0")),
		},
		"v2, only a group above is limited": {
			groups: "0::/pod/app/init\n", mounts: mountV2, limit: 100, free: 36,
			tree: groupV2(v2Dir+"/pod", m100, "max\n", m64, "0"),
		},
		"v2, the root of the node has no limit files": {
			groups: "0::/\n", mounts: mountV2, limit: -1, tree: map[string]string{v2Dir + "/memory.stat": "inactive_file 0\n"},
		},
		"v2, in another container": {groups: "0::/../other\n", mounts: mountV2, tree: groupV2(v2Dir, m100, "max\n", m100, "0"), limit: -1},
		"v2, current cannot be read": {
			groups: "0::/\n", mounts: mountV2, limit: -1,
			tree: map[string]string{v2Dir + "/memory.max": m40, v2Dir + "/memory.stat": "inactive_file 0\n"},
		},
		"v2, what is no number": {groups: "0::/\n", mounts: mountV2, tree: groupV2(v2Dir, "many\n", "-3\n", m64, "0"), limit: -1},
		"v1": {
			groups: "4:memory:/app\n2:cpu,cpuacct:/other\n", mounts: mountV1CPU + mountV1, limit: 100, free: 46,
			tree: groupV1(v1Dir+"/app", m100, m100, m64, "10485760"),
		},
		"v1, no limit": {
			groups: "4:memory:/app\n", mounts: mountV1, limit: -1, tree: groupV1(v1Dir+"/app", unlimitedV1, unlimitedV1, m64, "0"),
		},
		"v1, the container's group is all that is mounted": {
			groups: "4:cpu,memory:/kubepods/pod1/c1\n", mounts: mountV1Shared, limit: 100, free: 36, tree: groupV1(v1Dir, m100, m100, m64, "0"),
		},
		"v1, a group above that is not visible is tighter": {
			groups: "4:memory:/kubepods/pod1/c1\n", mounts: mountV1Shared, limit: 100, free: 60, tree: groupV1(v1Dir, m200, m100, m40, "0"),
		},
		"v1, a group above is tighter": {
			groups: "4:memory:/pod/app\n", mounts: mountV1, limit: 100, free: 0,
			tree: join(groupV1(v1Dir+"/pod/app", unlimitedV1, m100, m40, "0"), groupV1(v1Dir+"/pod", m100, m100, m100, "0")),
		},
		"hybrid, memory in v1": {
			groups: "4:memory:/app\n0::/app\n", mounts: mountV1 + mountHybrid, limit: 100, free: 36, tree: join(
				groupV1(v1Dir+"/app", m100, m100, m64, "0"), map[string]string{"sys/fs/cgroup/unified/app/cgroup.procs": ""}),
		},
		"hybrid, memory in v2": {
			groups: "2:cpu,cpuacct:/app\n0::/app\n", mounts: mountV1CPU + mountHybrid, limit: 100, free: 36,
			tree: groupV2("sys/fs/cgroup/unified/app", m100, "max\n", m64, "0"),
		},
		"mounted twice": {groups: "0::/\n", mounts: mountV2 + mountHybrid, tree: groupV2(v2Dir, m100, "max\n", m64, "0"), limit: 100, free: 36},
		"a directory with a space": {
			groups: "0::/my app\n", mounts: `1 0 0:26 / /sys/fs/my\040cgroup ro - cgroup2 cgroup rw` + "\n", limit: 100, free: 36,
			tree: groupV2("sys/fs/my cgroup/my app", m100, "max\n", m64, "0"),
		},
		"nothing mounted":        {groups: "0::/\n", mounts: "1 0 0:26 / / rw - overlay overlay rw\n", limit: -1},
		"lines that are no such": {groups: "0\n::\n", mounts: "cgroup2\n1 0 0:26 / /x rw - cgroup2\n", limit: -1},
		"no files of proc":       {limit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, limited := tree(t, tc.groups, tc.mounts, tc.tree).freeMemory(7)
			if limited != (tc.limit >= 0) {
				t.Fatalf("limited is %v: %+v", limited, got)
			}
			if limited && (got.Limit != tc.limit*mib || got.Free != tc.free*mib) {
				t.Errorf("%d MiB are free below %d, want %d below %d", got.Free/mib, got.Limit/mib, tc.free, tc.limit)
			}
		})
	}
}

// The lowest limit counts, not that of the group with the least free memory.
func TestMemoryLimit(t *testing.T) {
	const m100, m200, used = "104857600\n", "209715200\n", "199229440\n"
	groups := groupV2("sys/fs/cgroup/pod/app", m100, "max\n", "0\n", "0")
	maps.Copy(groups, groupV2("sys/fs/cgroup/pod", m200, "max\n", used, "0"))
	for name, tc := range map[string]struct {
		tree  map[string]string
		limit int64 // MiB; 0 for none
	}{
		"a group above has less free memory": {groups, 100},
		"there is no limit":                  {groupV2("sys/fs/cgroup/pod/app", "max\n", "max\n", used, "0"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, limited := tree(t, "0::/pod/app\n", mountV2, tc.tree).memoryLimit(7)
			if got != tc.limit*mib || limited != (tc.limit > 0) {
				t.Errorf("got %d MiB, limited: %t, want %d", got/mib, limited, tc.limit)
			}
		})
	}
}
