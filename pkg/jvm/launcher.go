package jvm

import (
	"path"
	"strings"
)

// java is the name of the JDK's launcher.
const java = "java"

// withValue are the launcher options whose value is the next argument (java(1);
// IsWhiteSpaceOption in the launcher's java.c).
var withValue = map[string]bool{
	"-cp": true, "-classpath": true, "--class-path": true, "-p": true, "--module-path": true,
	"--upgrade-module-path": true, "--add-modules": true, "--limit-modules": true, "--add-exports": true,
	"--add-opens": true, "--add-reads": true, "--patch-module": true, "--source": true,
	"--enable-native-access": true, "--describe-module": true, "-d": true,
	"--illegal-native-access": true, "--sun-misc-unsafe-memory-access": true,
}

// splitLauncherArgs separates the JVM's options from the main class, jar or module. The
// arguments after it are the application's.
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
