package jvm

import "strings"

// JavaAgent is a Java agent that a JVM was started with: -javaagent:<jar>=<options>.
type JavaAgent struct {
	// Jar is its path as it was given.
	Jar string
	// Options may hold secrets.
	Options string
}

// parseAgents finds the agents among the options: those in Java, and whether one
// of the others is the debugger's.
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
