//go:build linux

package directory

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// DesiredSuffix is the suffix of the names of desired files.
const DesiredSuffix = ".desired"

const lockSuffix = ".lock"

// DesiredFile returns the name of a JVM's desired file.
func DesiredFile(p jvm.Process) string { return stemOf(p) + DesiredSuffix }

// LockFile returns the name of a JVM's lock.
func LockFile(p jvm.Process) string { return stemOf(p) + lockSuffix }

// FilesOf returns the names of the desired file and the lock of a JVM that has exited.
func FilesOf(target helperapi.Target) []string {
	gone := stem(target.PID, target.StartTime)
	return []string{gone + DesiredSuffix, gone + lockSuffix}
}

// stemOf returns the stem of the names of a JVM's files: the PID is that which the JVM
// sees, so that it is the same for helpers inside and outside the container.
func stemOf(p jvm.Process) string { return stem(p.NamespacePID, p.StartTime) }

func stem(pid int, start uint64) string { return fmt.Sprintf("%d-%d", pid, start) }
