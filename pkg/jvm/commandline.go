//go:build linux

package jvm

import "strings"

// commandLine is the result of parsing a launcher's arguments and environment.
type commandLine struct {
	flags     Flags
	mainClass string
	agents    []JavaAgent
	debugger  bool
	// unread reports that an options file could not be read, so flags may be incomplete.
	unread bool
}

// fileReader reads a file that an option names, resolved as the JVM would.
type fileReader func(name string) (string, error)

// maxFiles limits how many options files are followed.
const maxFiles = 32

// parseCommandLine parses a Java command line in the order in which HotSpot applies it,
// where the last setting wins (Arguments::parse in arguments.cpp): the -XX:Flags file,
// the runtime's built-in options, JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS (which the launcher
// prepends to the command line), the command line, and _JAVA_OPTIONS. A -XX:VMOptionsFile
// applies at its position. launcher is the name of the program; arguments are understood
// only for java. linked are the runtime's built-in options: see linkedOptions.
func parseCommandLine(launcher string, argv, environ []string, linked string, major int, read fileReader) commandLine {
	var command commandLine
	files := 0
	open := func(name string) (text string, ok bool) {
		if files++; files > maxFiles {
			command.unread = true
			return "", false
		}
		text, err := read(name)
		if err != nil { // the JVM started with the file, so it was removed since
			command.unread = true
		}
		return text, err == nil
	}

	var args []string
	if len(argv) > 0 {
		args = argv[1:]
	}
	if major != 8 { // JDK_JAVA_OPTIONS and @argfiles came with JDK 9
		args = append(splitOptions(lookupEnv(environ, VariableJavaOptions)), args...)
		args = expandArgFiles(args, open)
	}
	options, main := splitLauncherArgs(args)
	command.mainClass = main
	if launcher != java { // such as jsvc or jcmd
		command.mainClass = launcher
	}

	var all []string
	for _, source := range [][]string{
		splitOptions(linked), splitOptions(lookupEnv(environ, "JAVA_TOOL_OPTIONS")), options, splitOptions(lookupEnv(environ, "_JAVA_OPTIONS")),
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
