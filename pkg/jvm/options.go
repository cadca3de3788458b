package jvm

import (
	"path"
	"strings"
)

// Flags are the options that decide whether and how a JVM can be attached to.
type Flags struct {
	// AttachDisabled: -XX:+DisableAttachMechanism. SIGQUIT would print all
	// stacks on the application's output.
	AttachDisabled bool
	// SignalsReduced: -Xrs, -XX:+ReduceSignalUsage. SIGQUIT would kill, but the
	// attach socket is there from the start.
	SignalsReduced bool
	// AgentLoading is what -XX:[+-]EnableDynamicAgentLoading says, if anything.
	// Unset, JDK 21 and later load agents and print a warning (JEP 451).
	AgentLoading Setting
}

// Setting is a flag that may be left alone.
type Setting int

// The values of a Setting.
const (
	Unset Setting = iota
	Off
	On
)

// JavaAgent is a Java agent that a JVM was started with: -javaagent:<jar>=<options>.
type JavaAgent struct {
	// Jar is its path as it was given.
	Jar string
	// Options may hold secrets.
	Options string
}

// commandLine is what the arguments and environment of a launcher tell.
type commandLine struct {
	flags     Flags
	mainClass string
	agents    []JavaAgent
	debugger  bool
	// unread tells that a file with options could not be read, so that flags
	// may be others.
	unread bool
}

// java is the name of the JDK's launcher.
const java = "java"

// fileReader reads a file that an option names, as the JVM would.
type fileReader func(name string) (string, error)

// maxFiles bounds how many option files are followed.
const maxFiles = 32

// parseCommandLine reads a Java command line in the order in which HotSpot
// applies it, where the last setting wins (Arguments::parse in arguments.cpp):
// the file of -XX:Flags, JAVA_TOOL_OPTIONS, the command line with what the
// launcher puts before it from JDK_JAVA_OPTIONS, _JAVA_OPTIONS. A
// -XX:VMOptionsFile counts where it stands. launcher is the name of the program;
// only what java was given can be understood.
func parseCommandLine(launcher string, argv, environ []string, major int, read fileReader) commandLine {
	var command commandLine
	files := 0
	open := func(name string) (text string, ok bool) {
		if files++; files > maxFiles {
			command.unread = true
			return "", false
		}
		text, err := read(name)
		if err != nil { // the JVM has started with it, so it is gone by now
			command.unread = true
		}
		return text, err == nil
	}

	var args []string
	if len(argv) > 0 {
		args = argv[1:]
	}
	if major != 8 { // JDK_JAVA_OPTIONS and @argfiles came with JDK 9
		args = append(splitOptions(lookupEnv(environ, "JDK_JAVA_OPTIONS")), args...)
		args = expandArgFiles(args, open)
	}
	options, main := splitLauncherArgs(args)
	command.mainClass = main
	if launcher != java { // such as jsvc or jcmd
		command.mainClass = launcher
	}

	var all []string
	for _, source := range [][]string{
		splitOptions(lookupEnv(environ, "JAVA_TOOL_OPTIONS")), options, splitOptions(lookupEnv(environ, "_JAVA_OPTIONS")),
	} {
		for _, option := range source {
			if name, ok := strings.CutPrefix(option, "-XX:VMOptionsFile="); ok {
				text, _ := open(name)
				all = append(all, splitOptions(text)...)
				continue
			}
			if name, ok := strings.CutPrefix(option, "-XX:Flags="); ok {
				text, _ := open(name)
				all = append(settingsFile(text), all...)
				continue
			}
			all = append(all, option)
		}
	}
	command.flags = parseFlags(all)
	command.agents, command.debugger = parseAgents(all)
	return command
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

// parseFlags applies options in their order.
func parseFlags(options []string) Flags {
	var f Flags
	for _, option := range options {
		switch option {
		case "-Xrs", "-XX:+ReduceSignalUsage":
			f.SignalsReduced = true
		case "-XX:-ReduceSignalUsage":
			f.SignalsReduced = false
		case "-XX:+DisableAttachMechanism":
			f.AttachDisabled = true
		case "-XX:-DisableAttachMechanism":
			f.AttachDisabled = false
		case "-XX:+EnableDynamicAgentLoading":
			f.AgentLoading = On
		case "-XX:-EnableDynamicAgentLoading":
			f.AgentLoading = Off
		}
	}
	return f
}

// withValue are the launcher's options whose value is the next argument
// (java(1); IsWhiteSpaceOption in the launcher's java.c).
var withValue = map[string]bool{
	"-cp": true, "-classpath": true, "--class-path": true, "-p": true, "--module-path": true,
	"--upgrade-module-path": true, "--add-modules": true, "--limit-modules": true, "--add-exports": true,
	"--add-opens": true, "--add-reads": true, "--patch-module": true, "--source": true,
	"--enable-native-access": true, "--describe-module": true, "-d": true,
	"--illegal-native-access": true, "--sun-misc-unsafe-memory-access": true,
}

// splitLauncherArgs separates the JVM's options from what is run with them; what
// comes after that is the application's.
func splitLauncherArgs(args []string) (options []string, main string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := func() string {
			if i+1 < len(args) {
				return args[i+1]
			}
			return ""
		}
		switch {
		case arg == "-jar":
			return options, path.Base(value())
		case arg == "-m" || arg == "--module":
			return options, value()
		case strings.HasPrefix(arg, "--module="):
			return options, strings.TrimPrefix(arg, "--module=")
		case withValue[arg]:
			i++
		case strings.HasPrefix(arg, "-"):
			options = append(options, arg)
		default:
			return options, arg
		}
	}
	return options, ""
}

// expandArgFiles replaces every @file before the main class by the arguments in
// it, as the launcher does (JDK 9, args.c): not recursively, @@ is a literal @,
// and --disable-@files ends it. What follows a file that cannot be read is left
// out: it may be options, or the main class' arguments, which hold secrets.
func expandArgFiles(args []string, open func(string) (string, bool)) []string {
	var expanded []string
	for i, arg := range args {
		if arg == "--disable-@files" {
			return append(expanded, args[i+1:]...)
		}
		if _, main := splitLauncherArgs(expanded); main != "" {
			return append(expanded, args[i:]...)
		}
		switch {
		case strings.HasPrefix(arg, "@@"):
			expanded = append(expanded, arg[1:])
		case strings.HasPrefix(arg, "@") && len(arg) > 1:
			text, ok := open(arg[1:])
			if !ok {
				return expanded
			}
			expanded = append(expanded, splitArgFile(text)...)
		default:
			expanded = append(expanded, arg)
		}
	}
	return expanded
}

// splitOptions splits what stands in JAVA_TOOL_OPTIONS and its like, or in a
// VMOptionsFile: white space separates, quotes of either kind take it in, and
// there is no escape (Arguments::parse_options_buffer).
func splitOptions(text string) []string {
	var (
		options []string
		b       strings.Builder
		quote   rune
		inside  bool
	)
	for _, r := range text + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inside = r, true
		case strings.ContainsRune(" \t\r\n\f\v", r):
			if inside {
				options = append(options, b.String())
			}
			b.Reset()
			inside = false
		default:
			b.WriteRune(r)
			inside = true
		}
	}
	return options
}

// settingsFile returns the options in a file of -XX:Flags, where they stand
// without -XX: and # starts a comment (Arguments::process_settings_file).
func settingsFile(text string) []string {
	var options []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, flag := range splitOptions(line) {
			options = append(options, "-XX:"+flag)
		}
	}
	return options
}

// splitArgFile splits an @argfile: as splitOptions, but # starts a comment, a
// backslash escapes inside quotes, and one at a line's end there continues the
// argument without the next line's indentation (args.c, java(1)).
func splitArgFile(text string) []string {
	var (
		args   []string
		b      strings.Builder
		quote  byte
		inside bool
	)
	flush := func() {
		if inside {
			args = append(args, b.String())
		}
		b.Reset()
		inside = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case 'f':
				b.WriteByte('\f')
			case '\n', '\r':
				for i+1 < len(text) && strings.IndexByte(" \t\r\n\f", text[i+1]) >= 0 {
					i++
				}
			default:
				b.WriteByte(text[i])
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inside = c, true
		case c == '#' && !inside:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			flush()
		default:
			b.WriteByte(c)
			inside = true
		}
	}
	flush()
	return args
}
