//go:build linux

package helper

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// securityPrefix is the prefix of the names of security files. They contain a private
// key.
const securityPrefix = "security-"

func isSecurity(name string) bool { return isNamed(name, securityPrefix, "") }

// trustSecurity refuses a file that other users can read, or that the JVM cannot.
func (dir *directory) trustSecurity(name string, info fs.FileInfo) error {
	owner, file := int(info.Sys().(*syscall.Stat_t).Uid), path.Join(helperapi.AgentDirectory, name)
	switch {
	case info.Mode().Perm()&0o077 != 0:
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s may be read by others (%v); remove it, and replace the key in it.", file, info.Mode())
	case dir.jvm != nil && owner != dir.jvm.UID:
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s belongs to user %d, not to the JVM's user %d; stage it for that JVM.", file, owner, dir.jvm.UID)
	}
	return nil
}

// chown makes the JVM's user the owner of a file that only its owner may read.
func (dir *directory) chown(f *os.File) error {
	if dir.jvm == nil || dir.jvm.UID == os.Geteuid() {
		return nil
	}
	if err := f.Chown(dir.jvm.UID, dir.jvm.GID); err != nil {
		return helperapi.Errorf(helperapi.ReasonUserMismatch, "The endpoint's key cannot be given to the JVM's user %d: user %d has no capability CHOWN.", dir.jvm.UID, os.Geteuid())
	}
	return nil
}

// removeSecurity removes the security file that a desired file referred to, unless
// another one does: a key is removed without waiting for leftoverAge.
func (dir *directory) removeSecurity(previous pairs) {
	name := path.Base(previous.Get("security"))
	if !isSecurity(name) {
		return
	}
	if wanted, known := dir.referenced(); known && !slices.Contains(wanted, name) {
		_ = dir.Remove(name) // another helper may have removed it
	}
}
