//go:build linux

package fakenode

import (
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// JVM is one Java process.
type JVM struct {
	helperapi.Process
	// Loads counts the loads of an agent: rule 1 allows one.
	Loads int
	// Unloads counts how often the agent was stopped.
	Unloads int
	// Socket is the attach socket: whether the JVM has opened it.
	Socket bool
	// Quits counts the SIGQUITs that asked for the socket. A JVM with a Refusal may not
	// handle it: the signal would end it.
	Quits int
	// Asked are the configurations that loads were requested with, each once.
	Asked []string
	// Fault is the error of a load, and of an unload after that.
	Fault, Stays error
	// Argument is an option on its command line, for the rules.
	Argument string
	// Identity is the identity that its agent was given.
	Identity string
	// Notices are those of its agent after a load.
	Notices helperapi.Notices
}

// The process of NewJVM.
const (
	JavaPID       = 7
	JavaStartTime = 4711000
)

// NewJVM returns a Java process that can be attached to.
func NewJVM(startTime uint64) *JVM {
	return &JVM{Process: helperapi.Process{
		Target: helperapi.Target{PID: JavaPID, StartTime: startTime}, UID: 1000, GID: 1000,
		Implementation: "HotSpot", Vendor: "Eclipse Adoptium", Version: "17.0.15", MainClass: "com.example.Main",
	}}
}

// Running reports whether its agent serves.
func (j *JVM) Running() bool { return j.Mark != nil && j.Mark.State == helperapi.AgentRunning }

// serves reports whether its agent serves as desired.
func (j *JVM) serves(desired *helperapi.Desired, port int32) bool {
	return j.Running() && j.Mark.Port == port && (desired.Identity == "" || desired.Identity == j.Identity) &&
		j.Mark.ConfigSHA256 == desired.ConfigSHA256 && j.Mark.ImplementationSHA256 == desired.ImplementationSHA256 &&
		j.Mark.SecuritySHA256 == desired.SecuritySHA256
}

// attach opens the attach socket, for which the JVM gets one SIGQUIT.
func (j *JVM) attach() {
	if !j.Socket {
		j.Quits++
		j.Socket = true
	}
}

// excluded evaluates the rules as internal/helper does, with equality instead of patterns.
func (j *JVM) excluded(rules []helperapi.ProcessRule) bool {
	optionName, _, _ := strings.Cut(j.Argument, "=")
	for _, rule := range rules {
		if (rule.MainClass == "" || rule.MainClass == j.MainClass) && (rule.OptionName == "" || rule.OptionName == optionName) && (rule.Argument == "" || rule.Argument == j.Argument) {
			return rule.Action == helperapi.RuleExclude
		}
	}
	return false
}

// ports are those that its agent, or a stock exporter in it, serves.
func (j *JVM) ports() []int32 {
	var ports []int32
	if j.Running() {
		ports = append(ports, j.Mark.Port)
	}
	if j.Exporter != nil && j.Exporter.Port != 0 {
		ports = append(ports, j.Exporter.Port)
	}
	return ports
}

func (j *JVM) ask(config string) {
	if !slices.Contains(j.Asked, config) {
		j.Asked = append(j.Asked, config)
	}
}
