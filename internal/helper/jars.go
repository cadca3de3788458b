//go:build linux

package helper

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Jars are the SHA-256 of the jars that a session may load into JVMs: those named on its
// command line, or beside the helper. An admission policy sees the command line of an
// exec but not its standard input, so a request there must not be able to add others. nil
// allows all, for the command-line tool.
type Jars []string

// Jars returns the digests of the jars beside the helper.
func (b Beside) Jars() Jars {
	jars := Jars{}
	for file := range b {
		jars = append(jars, file.SHA256)
	}
	return jars
}

func (j Jars) allow(sha256 string) bool { return j == nil || slices.Contains(j, sha256) }

// checkStaged refuses files other than the session's jars, configurations, and security
// files. The latter two are only data to the agent.
func (j Jars) checkStaged(files []helperapi.File) error {
	for _, file := range files {
		data := isNamed(file.Name, "config-", ".yaml") || isNamed(file.Name, "security-", "")
		if !data && !j.allow(file.SHA256) {
			return helperapi.Errorf(helperapi.ReasonBadRequest, "%s is none of the jars that the session was started with.", file.Name)
		}
	}
	return nil
}

// checkLoaded refuses to make a JVM run a jar other than the session's, unless the JVM
// runs it already. In answer to the refusal, the operator stages its own jars.
func (a *agent) checkLoaded(d helperapi.Desired, load bool) error {
	runs := a.mark != nil && a.mark.ImplementationSHA256 == d.ImplementationSHA256
	switch {
	case load && !a.jars.allow(d.AgentSHA256):
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is none of the jars that the session was started with.", d.Agent)
	case !runs && !a.jars.allow(d.ImplementationSHA256):
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is none of the jars that the session was started with.", d.Implementation)
	}
	return nil
}
