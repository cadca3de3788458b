//go:build linux

package helper

import (
	"errors"
	"path"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// maxTrampoline limits how much of a trampoline is read, in bytes. Ours has 16 KiB.
const maxTrampoline = 1 << 20

// trampolines returns the trampolines of ours that the JVM has open: it keeps open the
// first jar that it loaded an agent from, even if the file is deleted. A foreign jar
// under such a name is an Error with ReasonForeignJar.
//
// A name proves nothing in a directory that others can write to: HotSpot opens the jar by
// its path, shortly after it was checked. Therefore the file behind the JVM's own
// descriptor is examined.
func trampolines(p jvm.Process) ([]jvm.OpenFile, error) {
	jars, err := p.Inspect(isAgentJar, maxTrampoline)
	if err != nil {
		return nil, err
	}
	for _, jar := range jars {
		digest, named := helperapi.FileDigest(path.Base(jar.Name))
		switch {
		case !jar.Mode.IsRegular():
			return nil, foreign(jar, "it is not a regular file")
		case jar.UID != p.UID && !p.IsRoot(jar.UID):
			return nil, foreign(jar, "it belongs to user %d", jar.UID)
		case jar.Mode.Perm()&0o022 != 0:
			return nil, foreign(jar, "others may write to it (%v)", jar.Mode)
		case !named || !strings.HasPrefix(jar.SHA256, digest):
			return nil, foreign(jar, "its content is not what its name says")
		}
	}
	return jars, nil
}

// agentLoaded reports whether the JVM has loaded one of our trampolines.
func agentLoaded(p jvm.Process) (bool, error) {
	jars, err := trampolines(p)
	return len(jars) > 0, err
}

func foreign(jar jvm.OpenFile, why string, args ...any) *helperapi.Error {
	return helperapi.Errorf(helperapi.ReasonForeignJar, "The JVM has %s open, which is not this operator's agent: "+why+
		". The operator does not touch it. Find out who wrote the file and what it does, then restart the container.", append([]any{helperapi.Bounded(jar.Name)}, args...)...)
}

// isAgentJar reports whether an open file has the name of a trampoline. If /tmp is a
// link, the file's directory has another path than the agent directory.
func isAgentJar(name string) bool {
	dir, file := path.Split(name)
	return path.Base(dir) == path.Base(helperapi.AgentDirectory) && strings.HasPrefix(file, "agent-") && path.Ext(file) == ".jar"
}

// foreignJar returns the refusal of a process that has a foreign jar open, otherwise nil.
func foreignJar(process helperapi.Process) error {
	if isForeign(process.Refusal) {
		return process.Refusal
	}
	return nil
}

// isForeign reports whether an error has ReasonForeignJar.
func isForeign(err error) bool {
	known, ok := errors.AsType[*helperapi.Error](err)
	return ok && known != nil && known.Reason == helperapi.ReasonForeignJar
}
