//go:build linux

package jvm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestAttachAndLoad(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading", "-Dsecret=hush"}})
		p := found(t, app.PID)

		want := Process{
			PID: app.PID, NamespacePID: app.PID, Implementation: HotSpot,
			MainClass: "App", Flags: Flags{AgentLoading: On}, JavaOptions: JavaOptionsAbsent, CatchesQuit: true,
		}
		if jdk.Major < 9 {
			want.JavaOptions = JavaOptionsIgnored
		}
		if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(Process{}), cmpopts.IgnoreFields(Process{}, "StartTime", "Vendor", "Version")); diff != "" {
			t.Errorf("process (-want +got):\n%s", diff)
		}
		if Major(p.Version) != jdk.Major {
			t.Errorf("version is %q, want %d", p.Version, jdk.Major)
		}
		if refusal := p.Refusal(); refusal != nil {
			t.Errorf("refused: %v", refusal)
		}
		if p.HasSocket() {
			t.Error("there is a socket before anybody attached")
		}
		if _, _, err := p.Property(deadline(t), property); err == nil {
			t.Error("a property was read without a listener: who signalled?")
		}
		for range 2 { // the second time, the socket exists
			attach(t, p)
		}
		if _, found, err := p.Property(deadline(t), property); found || err != nil {
			t.Errorf("property before the load: %v, %v", found, err)
		}
		loadAgent(t, p, "a=b,c")
		wantProperty(t, p, "loads=1 options=a=b,c"+escaped)
		files, err := p.OpenFiles()
		if err != nil || !slices.Contains(files, jvmtest.AgentJar(t)) {
			t.Errorf("the agent's jar is not open: %v, %v", files, err)
		}
		app.Unharmed()
		wantNoAnnouncement(t, p)
	})
}

// Loading an agent that throws, or an invalid jar, is an error and does not affect the
// application.
func TestLoadFails(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{})
		p := found(t, app.PID)
		attach(t, p)
		wantKind(t, p.LoadAgent(deadline(t), "/nowhere/agent.jar", ""), UnsupportedJVM)
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "throw"), AgentFailed)
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), strings.Repeat("x", 1024)), AttachFailed)
		app.Tell("ping")
	})
}

// A runtime linked for one application may lack java.instrument.
func TestMissingInstrumentModule(t *testing.T) {
	app := jvmtest.Need(t, 17).Link(t, "java.base").Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	attach(t, p)
	err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "")
	wantKind(t, err, MissingModule)
	if !strings.Contains(err.Error(), "java.instrument") {
		t.Errorf("the module is not named: %v", err)
	}
	app.Unharmed()
}
