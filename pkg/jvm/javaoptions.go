//go:build linux

package jvm

import (
	"slices"
	"strings"
)

// JavaOptions is what the environment that a JVM started with has of JDK_JAVA_OPTIONS,
// the variable whose options the java launcher of JDK 9 and later prepends to its command
// line (the java man page, "Using the JDK_JAVA_OPTIONS Launcher Environment Variable").
type JavaOptions string

const (
	// JavaOptionsUnknown: the environment or the version cannot be read.
	JavaOptionsUnknown JavaOptions = ""
	// JavaOptionsAbsent: the launcher reads the variable, and there is none.
	JavaOptionsAbsent JavaOptions = "Absent"
	// JavaOptionsSet: the launcher reads the variable, and there is one.
	JavaOptionsSet JavaOptions = "Set"
	// JavaOptionsIgnored: the launcher does not read it: that of Java 8, or another one than
	// java.
	JavaOptionsIgnored JavaOptions = "Ignored"
)

// VariableJavaOptions is the name of the variable.
const VariableJavaOptions = "JDK_JAVA_OPTIONS"

// javaOptions returns what an environment has of the variable, for a launcher of a version.
func javaOptions(launcher string, environ []string, major int) JavaOptions {
	const first = 9 // JDK-8170832
	switch {
	case launcher != java || major > 0 && major < first:
		return JavaOptionsIgnored
	case major == 0 || len(environ) == 0: // a process may overwrite its environment
		return JavaOptionsUnknown
	case slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, VariableJavaOptions+"=") }):
		return JavaOptionsSet
	}
	return JavaOptionsAbsent
}
