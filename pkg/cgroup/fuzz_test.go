package cgroup

import (
	"path"
	"strings"
	"testing"
)

// A container can name its control groups and choose its mounts.
func FuzzFreeMemory(f *testing.F) {
	f.Add("0::/\n", mountV2, "anon 1\ninactive_file 10\n", "10485760\n")
	f.Add("9:memory:/kubepods/pod1/c1\n", mountV1+mountV1Shared+mountHybrid, "hierarchical_memory_limit 99999999999999999999\n", "max\n")
	f.Add("0::/../x\n:::\n", "1 0 0:26 /a\\040b /c\\134 ro - cgroup2 c rw\n - - -\n", "inactive_file -1\n", "-9223372036854775808")
	f.Fuzz(func(t *testing.T, groups, mounts, stat, number string) {
		for line := range strings.Lines(mounts) {
			m, ok := parseMount(line, "memory")
			if !ok {
				continue
			}
			below, visible := relative(groupIn(groups, m.version, "memory"), m.root)
			if visible && (below != path.Clean(below) || !path.IsAbs(below)) {
				t.Errorf("%q leads out of %q", below, m.root)
			}
		}
		for _, n := range []int64{value(stat, "inactive_file"), value(stat, "hierarchical_memory_limit"), parse(number)} {
			if n < 0 || n > unlimited {
				t.Errorf("%d bytes", n)
			}
		}
	})
}
