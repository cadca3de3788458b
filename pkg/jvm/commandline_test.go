//go:build linux

package jvm

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCommandLine(t *testing.T) {
	files := map[string]string{
		"args":   "-Xmx1g # a comment\n\"-cp\" 'my dir/*'\\\n-XX:+DisableAttachMechanism\ncom.example.FromFile",
		"quoted": `"-Dx=a \"b\" \` + "\n   c\" -Xrs",
		"vm":     "-Xrs\n-XX:+DisableAttachMechanism",
		"flags":  "+DisableAttachMechanism # why\n-EnableDynamicAgentLoading\n",
	}
	read := func(name string) (string, error) {
		if text, ok := files[name]; ok {
			return text, nil
		}
		return "", errors.New("no such file")
	}
	attachDisabled, reduced := Flags{AttachDisabled: true}, Flags{SignalsReduced: true}
	for name, test := range map[string]struct {
		argv    string // separated by |
		environ []string
		linked  string
		major   int
		want    commandLine
	}{
		"class":              {argv: "java|-Xmx1g|-cp|a.jar:b.jar|com.example.Main|-Xrs", want: commandLine{mainClass: "com.example.Main"}},
		"jar":                {argv: "/opt/bin/java|-Dx=y|-jar|/srv/app.jar|--port=1", want: commandLine{mainClass: "app.jar"}},
		"module":             {argv: "java|-p|mods|-m|com.example/com.example.Main|x", want: commandLine{mainClass: "com.example/com.example.Main"}},
		"module with =":      {argv: "java|--module-path=mods|--module=com.example", want: commandLine{mainClass: "com.example"}},
		"nothing":            {argv: "java|-version"},
		"empty":              {},
		"value is no option": {argv: "java|--add-opens|-Xrs|Main", want: commandLine{mainClass: "Main"}},
		"own launcher":       {argv: "/usr/bin/jsvc|-Xrs|com.example.Daemon", want: commandLine{mainClass: "jsvc", flags: reduced}},
		"disabled":           {argv: "java|-XX:+DisableAttachMechanism|Main", want: commandLine{mainClass: "Main", flags: attachDisabled}},
		"last wins":          {argv: "java|-XX:+DisableAttachMechanism|-XX:-DisableAttachMechanism|Main", want: commandLine{mainClass: "Main"}},
		"application's":      {argv: "java|Main|-XX:+DisableAttachMechanism", want: commandLine{mainClass: "Main"}},
		"signals":            {argv: "java|-XX:+ReduceSignalUsage|Main", want: commandLine{mainClass: "Main", flags: reduced}},
		"agents off":         {argv: "java|-XX:-EnableDynamicAgentLoading|Main", want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: Off}}},
		"agents on":          {argv: "java|-XX:+EnableDynamicAgentLoading|Main", want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: On}}},
		"linked in": {
			argv: "java|Main", linked: "-XX:+DisableAttachMechanism\n-Xrs -javaagent:a.jar",
			want: commandLine{
				mainClass: "Main", agents: []JavaAgent{{Jar: "a.jar"}},
				flags: Flags{AttachDisabled: true, SignalsReduced: true},
			},
		},
		"linked in, lose": {
			argv: "java|Main", linked: "-XX:+DisableAttachMechanism", environ: []string{"JAVA_TOOL_OPTIONS=-XX:-DisableAttachMechanism"},
			want: commandLine{mainClass: "Main"},
		},
		"tool options lose": {
			argv: "java|-XX:-DisableAttachMechanism|Main", environ: []string{"JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism"},
			want: commandLine{mainClass: "Main"},
		},
		"tool options quoted": {
			argv: "java|Main", environ: []string{`JAVA_TOOL_OPTIONS='-Dx=a b' "-X"rs`},
			want: commandLine{mainClass: "Main", flags: reduced},
		},
		"underscore options win": {
			argv: "java|-XX:-DisableAttachMechanism|Main", environ: []string{"_JAVA_OPTIONS=-XX:+DisableAttachMechanism"},
			want: commandLine{mainClass: "Main", flags: attachDisabled},
		},
		"launcher options": {
			argv: "java|Main", environ: []string{"JDK_JAVA_OPTIONS=-Xrs @vm"},
			want: commandLine{mainClass: "Main", flags: Flags{SignalsReduced: true, AttachDisabled: true}},
		},
		"launcher options in 8": {
			argv: "java|Main", environ: []string{"JDK_JAVA_OPTIONS=-Xrs"}, major: 8,
			want: commandLine{mainClass: "Main"},
		},
		"argument file":           {argv: "java|@args|x", want: commandLine{mainClass: "com.example.FromFile", flags: attachDisabled}},
		"argument file, quotes":   {argv: "java|@quoted|Main", want: commandLine{mainClass: "Main", flags: reduced}},
		"argument files disabled": {argv: "java|--disable-@files|@args|Main", want: commandLine{mainClass: "@args"}},
		"literal @":               {argv: "java|-cp|@@x|Main", want: commandLine{mainClass: "Main"}},
		"after the main class":    {argv: "java|Main|@vm", want: commandLine{mainClass: "Main"}},
		"missing argument file":   {argv: "java|-Xrs|@gone|--password|s3cr3t", want: commandLine{flags: reduced, unread: true}},
		"missing options file":    {argv: "java|-XX:VMOptionsFile=gone|Main", want: commandLine{mainClass: "Main", unread: true}},
		"missing flags file":      {argv: "java|-XX:Flags=gone|Main", want: commandLine{mainClass: "Main", unread: true}},
		"too many files":          {argv: "java" + strings.Repeat("|@quoted", maxFiles+1) + "|Main", want: commandLine{flags: reduced, unread: true}},
		"options file": {
			argv: "java|-XX:-DisableAttachMechanism|-XX:VMOptionsFile=vm|Main",
			want: commandLine{mainClass: "Main", flags: Flags{SignalsReduced: true, AttachDisabled: true}},
		},
		"flags file loses": {
			argv: "java|-XX:-DisableAttachMechanism|-XX:Flags=flags|Main",
			want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: Off}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			argv := splitNul([]byte(strings.ReplaceAll(test.argv, "|", "\x00") + "\x00"))
			launcher := java
			if len(argv) > 0 {
				launcher = path.Base(argv[0])
			}
			got := parseCommandLine(launcher, argv, test.environ, test.linked, test.major, read)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(commandLine{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
