//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cgroups is the tree of control groups that accounts for CPU, as a node sees it:
// cgroup v2, or the controller cpuacct of v1.
type cgroups struct{ root string }

// findCgroups takes what is mounted below a directory, /sys/fs/cgroup.
func findCgroups(mount string) (cgroups, error) {
	for _, root := range []string{mount, filepath.Join(mount, "cpuacct"), filepath.Join(mount, "cpu,cpuacct")} {
		if _, err := cpuOf(root); err == nil {
			return cgroups{root}, nil
		}
	}
	return cgroups{}, fmt.Errorf("no control group below %s accounts for CPU", mount)
}

// cpuOf is the CPU time of a group and all below it.
func cpuOf(group string) (time.Duration, error) {
	if v2, err := os.ReadFile(filepath.Join(group, "cpu.stat")); err == nil {
		if used, err := parseCPUStat(string(v2)); err == nil {
			return used, nil
		}
	}
	v1, err := os.ReadFile(filepath.Join(group, "cpuacct.usage"))
	if err != nil {
		return 0, err
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(v1)), 10, 64)
	return time.Duration(nanoseconds), err
}

// parseCPUStat reads usage_usec of cpu.stat. Version 1 has a file of that name, too,
// without it.
func parseCPUStat(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, "usage_usec "); found {
			microseconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Duration(microseconds) * time.Microsecond, err
		}
	}
	return 0, errors.New("cpu.stat has no usage_usec")
}

// pods are the group of all pods, and that of each by UID.
func (c cgroups) pods() (all string, byUID map[string]string, err error) {
	byUID = map[string]string{}
	err = filepath.WalkDir(c.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // a group that has just gone
		}
		name := strings.TrimSuffix(entry.Name(), ".slice")
		if all == "" && (name == "kubepods" || strings.HasSuffix(name, "-kubepods")) {
			all = path
		}
		if uid := podUID(name); uid != "" {
			byUID[uid] = path
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && all == "" {
		err = fmt.Errorf("no group of pods below %s", c.root)
	}
	return all, byUID, err
}

// podUID is the UID in the name of a pod's group: pod<UID>, or, of systemd,
// kubelet-kubepods-burstable-pod<UID with underscores>; empty of other groups.
func podUID(name string) string {
	if i := strings.LastIndex(name, "-pod"); i >= 0 && strings.Contains(name, "kubepods") {
		name = name[i+1:]
	}
	uid, found := strings.CutPrefix(name, "pod")
	if uid = strings.ReplaceAll(uid, "_", "-"); !found || len(uid) != len("00000000-0000-0000-0000-000000000000") {
		return ""
	}
	return uid
}

// java is the process called java in a group or below it.
func java(group string) (pid int, err error) {
	err = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" { // or a group that has just gone
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if n, err := strconv.Atoi(lines.Text()); err == nil && called(n, "java") {
				pid = n
				return fs.SkipAll
			}
		}
		return nil
	})
	if err == nil && pid == 0 {
		err = fmt.Errorf("no Java process in %s", group)
	}
	return pid, err
}

// called reports whether a process has that name.
func called(pid int, name string) bool {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.TrimSpace(string(comm)) == name
}
