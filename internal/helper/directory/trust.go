//go:build linux

package directory

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// IsSecurity reports whether a name is that of a security file, which contains a private
// key.
func IsSecurity(name string) bool { return helperapi.IsNamed(name, "security-", "") }

// trust determines whose files are trusted.
type trust struct {
	// owners are the users whose files are trusted.
	owners []int
	// jvm is the JVM that the files are for; nil if they are for any.
	jvm *jvm.Process
}

// verify refuses a file that an untrusted user owns, or that others may write.
func (t trust) verify(name string, info fs.FileInfo) error {
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); !slices.Contains(t.owners, owner) {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s belongs to user %d; remove it.", path.Join(helperapi.AgentDirectory, name), owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is writable by others (%v); remove it.", path.Join(helperapi.AgentDirectory, name), info.Mode())
	}
	if IsSecurity(name) {
		return t.verifySecurity(name, info)
	}
	return nil
}

// verifySecurity refuses a file that other users can read, or that the JVM cannot.
func (t trust) verifySecurity(name string, info fs.FileInfo) error {
	owner, file := int(info.Sys().(*syscall.Stat_t).Uid), path.Join(helperapi.AgentDirectory, name)
	switch {
	case info.Mode().Perm()&0o077 != 0:
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s may be read by others (%v); remove it, and replace the key in it.", file, info.Mode())
	case t.jvm != nil && owner != t.jvm.UID:
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s belongs to user %d, not to the JVM's user %d; stage it for that JVM.", file, owner, t.jvm.UID)
	}
	return nil
}

// chown makes the JVM's user the owner of a file that only its owner may read.
func (t trust) chown(f *os.File) error {
	if t.jvm == nil || t.jvm.UID == os.Geteuid() {
		return nil
	}
	// On a node, this thread may act as the container's root, who has no capability here.
	if err := jvm.Outside(func() error { return f.Chown(t.jvm.UID, t.jvm.GID) }); err != nil {
		return helperapi.Errorf(helperapi.ReasonUserMismatch, "The endpoint's key cannot be given to the JVM's user %d: user %d has no capability CHOWN.", t.jvm.UID, os.Geteuid())
	}
	return nil
}
