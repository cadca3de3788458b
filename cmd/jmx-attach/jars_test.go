//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A caller that controls a session's input, but not its command line, cannot stage
// another jar, neither under a jar's name nor under another one.
func TestStagesNoOtherJar(t *testing.T) {
	ours, theirs := helperapi.NewFile("agent-", []byte("ours"), ".jar"), []byte("theirs")
	for name, args := range map[string][]string{"exec": {"serve", ours.SHA256}, "door": {"serve", helperapi.ServeInDoor}, "no jars": {"serve"}} {
		t.Run(name, func(t *testing.T) {
			s := newTalkWith(t, args)
			for _, file := range []helperapi.File{
				helperapi.NewFile("agent-", theirs, ".jar"), helperapi.NewFile("exporter-", theirs, ".jar"), helperapi.NewFile("jmx-attach-", theirs, ""),
			} {
				report := s.call(helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{file}}, string(theirs))
				wantReason(t, report, helperapi.ReasonBadRequest)
			}
			config := helperapi.NewFile("config-", theirs, ".yaml")
			for _, data := range []helperapi.File{config, helperapi.NewFile("security-", theirs, "")} {
				wantReason(t, s.call(helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{data}}, string(theirs)), "")
			}
			report := s.call(helperapi.VerbLoad, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}, Desired: &helperapi.Desired{
				Agent: config.Name, AgentSHA256: config.SHA256, Implementation: config.Name, ImplementationSHA256: config.SHA256,
				Config: config.Name, ConfigSHA256: config.SHA256,
			}}, "")
			wantReason(t, report, helperapi.ReasonBadRequest)
			s.end()
		})
	}
}

// A session loads no jar that it was not started with, even if it exists in the
// container, but it reconfigures one that the JVM already runs.
func TestLoadsNoOtherJar(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	var contents []string
	var files []helperapi.File
	agentJar, exporterJar := agentJars(t)
	for _, jar := range []struct{ path, prefix string }{{agentJar, "agent-"}, {exporterJar, "exporter-"}} {
		content, err := os.ReadFile(jar.path)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
		files = append(files, helperapi.NewFile(jar.prefix, content, ".jar"))
	}
	files = append(files, helperapi.NewFile("config-", []byte(anyMBean), ".yaml"))
	start, err := jvm.StartTime(app.PID)
	if err != nil {
		t.Fatal(err)
	}
	load := func(s *talk, port int32) helperapi.Report {
		return s.load(helperapi.Request{Target: &helperapi.Target{PID: app.PID, StartTime: start}, Desired: &helperapi.Desired{
			Agent: files[0].Name, AgentSHA256: files[0].SHA256, Implementation: files[1].Name, ImplementationSHA256: files[1].SHA256,
			Config: files[2].Name, ConfigSHA256: files[2].SHA256, Port: port,
		}})
	}
	ours := newTalkOf(t, files[0], files[1])
	wantReason(t, ours.call(helperapi.VerbStage, helperapi.Request{Files: files}, strings.Join(contents, "")+anyMBean), "")
	another := helperapi.NewFile("agent-", []byte("another release"), ".jar")
	for _, jars := range [][]helperapi.File{{another, another}, {files[0], another}, {another, files[1]}} {
		s := newTalkOf(t, jars...)
		wantReason(t, load(s, 0), helperapi.ReasonStagingIncomplete)
		s.end()
	}
	wantReason(t, load(ours, 0), "")
	s := newTalkOf(t, another, another)
	wantReason(t, load(s, jvmtest.FreePort(t)), "")
	s.end()
	ours.end()
}
