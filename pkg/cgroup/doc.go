// Package cgroup reads how much memory, and how many tasks, the control groups of a process
// leave it, for version 1 and 2 (cgroups(7)), as far as they are visible: a cgroup namespace
// hides the groups above a container's own (cgroup_namespaces(7)), and a container may not
// mount the control groups at all.
package cgroup
