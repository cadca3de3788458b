//go:build linux

package jvm

import (
	"os"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A person on a host attaches to a JVM in a container: PIDs and /tmp differ.
func TestContainer(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Container: true, Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.NamespacePID != 1 {
			t.Errorf("the JVM sees itself as %d, want 1", p.NamespacePID)
		}
		if beside := jdk.Start(t, jvmtest.Options{}); !p.InOtherContainer() || found(t, beside.PID).InOtherContainer() {
			t.Error("a JVM in a container is not told from one beside this process")
		}
		attach(t, p)
		if _, err := os.Lstat("/tmp/.java_pid1"); err == nil {
			t.Error("the socket is in this /tmp, not in the container's")
		}
		loadAgent(t, p, "x")
		wantProperty(t, p, "loads=1 options=x"+escaped)
		app.Unharmed()
	})
}

// The files of another process, which has got the PID, are not those of the JVM.
func TestOpenTmpOfSuccessor(t *testing.T) {
	jvmtest.NeedUsers(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true})
	p := found(t, app.PID)
	p.StartTime--
	tmp, err := p.OpenTmp()
	if err == nil {
		tmp.Close()
	}
	wantKind(t, err, ProcessGone)
}

func TestWithinGroups(t *testing.T) {
	const unified, ours = "0::/kubepods.slice/pod1/", "12:pids:/kubepods/pod1/c1\n0::/kubepods/pod1/c1\n"
	for name, test := range map[string]struct {
		process, container string
		want               bool
	}{
		"same":                       {ours, ours, true},
		"below":                      {unified + "c1/nested\n", unified + "c1\n", true},
		"beside":                     {unified + "c2\n", unified + "c1\n", false},
		"beginning of a name":        {unified + "c12\n", unified + "c1\n", false},
		"above":                      {unified + "\n", unified + "c1\n", false},
		"other in one hierarchy":     {"12:pids:/kubepods/pod1/c1\n0::/kubepods/pod1/c2\n", ours, false},
		"namespace, same":            {"0::/\n", "0::/\n", true},
		"namespace, below":           {"0::/init.scope\n", "0::/\n", true},
		"namespace, other container": {"0::/../c2\n", "0::/\n", false},
		"nothing known":              {"", ours, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withinGroups(test.process, test.container); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
