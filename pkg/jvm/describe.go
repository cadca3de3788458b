//go:build linux

package jvm

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// describe fills in the fields that only messages and Refusal need; those that cannot be
// read stay empty. It runs as the JVM's user, because the JVM chooses the file names.
func (p *Process) describe(library string, argv []string) {
	p.obscure = "The JVM's options cannot be read"
	root, err := p.openRoot("root")
	if err != nil {
		return
	}
	defer root.Close()
	// <home>/lib/server/libjvm.so, or <home>/jre/lib/amd64/server/libjvm.so in JDK 8.
	for dir := path.Dir(library); len(dir) > 1 && p.Version == ""; dir = path.Dir(dir) {
		if text, err := readRegular(root, strings.TrimPrefix(path.Join(dir, "release"), "/")); err == nil {
			p.Vendor, p.Version = parseRelease(text)
		}
	}
	// Debian's Java 8 has no release file. Later versions have no directory per
	// architecture.
	if arch := path.Dir(path.Dir(library)); p.Version == "" && path.Base(arch) != "lib" && path.Base(path.Dir(arch)) == "lib" {
		p.Version = "1.8"
	}
	exe, err := os.Readlink(procPath(p.PID, "exe"))
	if err != nil {
		return
	}
	launcher := path.Base(strings.TrimSuffix(exe, " (deleted)"))
	environ, err := readProc(p.PID, "environ")
	if err != nil {
		return
	}
	p.JavaOptions = javaOptions(launcher, splitNul(environ), Major(p.Version))
	linked, err := p.linkedOptions(root, library)
	if err != nil {
		p.obscure = "The options that jlink may have written into the Java runtime (lib/modules) cannot be read"
	}
	command := parseCommandLine(launcher, argv, splitNul(environ), linked, Major(p.Version), func(name string) (string, error) {
		if path.IsAbs(name) {
			return readRegular(root, strings.TrimPrefix(path.Clean(name), "/"))
		}
		cwd, err := p.openRoot("cwd")
		if err != nil {
			return "", err
		}
		defer cwd.Close()
		return readRegular(cwd, name)
	})
	p.MainClass, p.Flags = command.mainClass, command.flags
	p.JavaAgents, p.Debugger = command.agents, command.debugger
	switch {
	case launcher != java: // and gives its JVM what options it likes (JNI_CreateJavaVM)
		p.obscure = fmt.Sprintf("The JVM was started by %q, not by java, so its options cannot be known", launcher)
	case err != nil: // as it is said above
	case command.unread:
		p.obscure = "A file of options that the JVM was started with can no longer be read"
	default:
		p.obscure = ""
	}
}
