package jvm

import "strings"

// JavaAgent is an agent on the JVM's command line: -javaagent:<jar>=<options>.
type JavaAgent struct {
	// Jar is the path as given on the command line.
	Jar string
	// Options may hold secrets.
	Options string
}

// parseAgents returns the Java agents among the options, and reports whether one of the
// native agents is the debugger (JDWP).
func parseAgents(options []string) (agents []JavaAgent, debugger bool) {
	for _, option := range options {
		if agent, ok := strings.CutPrefix(option, "-javaagent:"); ok {
			jar, options, _ := strings.Cut(agent, "=")
			agents = append(agents, JavaAgent{Jar: jar, Options: options})
		}
		name, _, _ := strings.Cut(option, "=")
		native := strings.HasPrefix(name, "-agentlib:") || strings.HasPrefix(name, "-agentpath:") || strings.HasPrefix(name, "-Xrun")
		debugger = debugger || native && strings.Contains(name, "jdwp")
	}
	return agents, debugger
}
