package jvm

import "strings"

// commandLine is what the arguments and environment of a launcher tell.
type commandLine struct {
	flags     Flags
	mainClass string
	agents    []JavaAgent
	debugger  bool
	// unread reports that a file with options could not be read, so that flags
	// may be others.
	unread bool
}

// fileReader reads a file that an option names, as the JVM would.
type fileReader func(name string) (string, error)

// maxFiles bounds how many option files are followed.
const maxFiles = 32

// parseCommandLine reads a Java command line in the order in which HotSpot
// applies it, where the last setting wins (Arguments::parse in arguments.cpp):
// the file of -XX:Flags, the runtime's own options, JAVA_TOOL_OPTIONS, the command
// line with what the launcher puts before it from JDK_JAVA_OPTIONS, _JAVA_OPTIONS.
// A -XX:VMOptionsFile counts where it stands. launcher is the name of the program;
// only what java was given can be understood. linked are the runtime's own
// options: see readVMOptions.
func parseCommandLine(launcher string, argv, environ []string, linked string, major int, read fileReader) commandLine {
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
