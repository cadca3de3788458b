//go:build linux

package jvm

import (
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestParseAgents(t *testing.T) {
	for name, test := range map[string]struct {
		argv, environ []string
		agents        []JavaAgent
		debugger      bool
	}{
		"none":             {[]string{"java", "-Xmx1g", "App"}, nil, nil, false},
		"agents":           {[]string{"java", "-javaagent:/a.jar=1=2", "-javaagent:b.jar", "App"}, nil, []JavaAgent{{"/a.jar", "1=2"}, {"b.jar", ""}}, false},
		"environment":      {[]string{"java", "App"}, []string{"JAVA_TOOL_OPTIONS='-javaagent:/a b.jar'"}, []JavaAgent{{"/a b.jar", ""}}, false},
		"of the program":   {[]string{"java", "App", "-javaagent:/a.jar", "-agentlib:jdwp"}, nil, nil, false},
		"debugger":         {[]string{"java", "-agentlib:jdwp=transport=dt_socket,address=*:5005", "App"}, nil, nil, true},
		"debugger of old":  {[]string{"java", "-Xrunjdwp:address=5005", "App"}, nil, nil, true},
		"debugger by path": {[]string{"java", "-agentpath:/lib/libjdwp.so=address=5005", "App"}, nil, nil, true},
		"other library":    {[]string{"java", "-agentlib:hprof=file=jdwp", "App"}, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			command := parseCommandLine(java, test.argv, test.environ, "", 17, nil)
			if diff := cmp.Diff(test.agents, command.agents); diff != "" || command.debugger != test.debugger {
				t.Errorf("debugger %v, agents (-want +got):\n%s", command.debugger, diff)
			}
		})
	}
}

// Only some of the ports in a network namespace belong to a process.
func TestOwnListeningPorts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ours := int32(listener.Addr().(*net.TCPAddr).Port)
	o := jvmtest.Options{
		Args: []string{"-Dcom.sun.management.jmxremote.port=0", "-Dcom.sun.management.jmxremote.authenticate=false", "-Dcom.sun.management.jmxremote.ssl=false"},
	}
	app := found(t, jvmtest.Need(t, 17).Start(t, o).PID)
	all, err := ListeningPorts(app.PID)
	if err != nil {
		t.Fatal(err)
	}
	own, err := app.ListeningPorts()
	if err != nil {
		t.Fatal(err)
	}
	if len(own) == 0 || slices.Contains(own, ours) || !slices.Contains(all, ours) || !slices.Contains(all, own[0]) {
		t.Errorf("the process has %v of %v, and not %d", own, all, ours)
	}
}
