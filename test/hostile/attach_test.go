//go:build linux

package hostile

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// attachTimeout ends an attachment that nothing else ends; it is for emulated machines, too.
const attachTimeout = 30 * time.Minute

// A container that is not hostile: by each transport, and as root and as another user, a
// JVM is attached to, scraped, moved to another port, and detached from.
func TestAttach(t *testing.T) {
	jvmtest.NeedUsers(t)
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, user := range []uint32{0, 1000} {
			for _, way := range []v1alpha1.Transport{exec_, door, node} {
				t.Run(fmt.Sprintf("uid=%d/%s", user, way), func(t *testing.T) {
					t.Parallel()
					attach(t, jdk, user, way)
				})
			}
		}
	})
}

func attach(t *testing.T, jdk jvmtest.JDK, user uint32, way v1alpha1.Transport) {
	shipped, err := shippedImage()
	if err != nil {
		t.Fatal(err)
	}
	c := newContainer(t, "size=16m", jdk.Home)
	c.user = user
	app, pid := c.startsApp(jdk)
	if way == door {
		c.openDoor(shipped)
	}
	o := newOperator(t, shipped, c, c)
	defer o.node.Close()
	if way == node {
		startAgent(t, shipped)
	}
	app.AwaitOutput("dummyapp is ready\n") // a session by exec that finds no JVM when it is opened finds none later
	ctx, cancel := context.WithTimeout(t.Context(), attachTimeout)
	defer cancel()
	sessions, in, err := o.opens(ctx, way)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	run := func(verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) *helperapi.Report {
		t.Helper()
		for {
			report, err := sessions.Run(ctx, in, verb, request, blobs...)
			if err == nil {
				return report
			}
			if !passes(err) {
				t.Fatalf("%s: %v", verb, err)
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %v, until %v", verb, err, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}

	var report *helperapi.Report
	defer func() {
		if t.Failed() {
			t.Logf("PID %d is alive: %t; last report: %+v; the application's output:\n%s", pid, c.isAlive(pid), report, app.Output())
		}
	}()
	eventually(t, "the JVM is found", func() bool {
		report = run(helperapi.VerbInspect, helperapi.Request{})
		return len(report.Processes) == 1
	})
	if p := report.Processes[0]; p.PID != pid || p.UID != int(user) {
		t.Fatalf("got process %+v, want PID %d of user %d", p, pid, user)
	}
	target := &report.Processes[0].Target
	rules, err := readBuilt("apps/dummyapp/jmx-exporter-config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := []transport.Blob{shipped.artifacts.Agent, shipped.artifacts.Implementation, transport.NewBlob("config-", rules, ".yaml")}
	run(helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{files[0].File, files[1].File, files[2].File}}, files...)
	ports := []int32{jvmtest.FreePort(t), jvmtest.FreePort(t)}
	for i, port := range ports {
		run(helperapi.VerbLoad, helperapi.Request{Target: target, Desired: &helperapi.Desired{
			Agent: files[0].Name, AgentSHA256: files[0].SHA256, Implementation: files[1].Name, ImplementationSHA256: files[1].SHA256,
			Config: files[2].Name, ConfigSHA256: files[2].SHA256, Port: port,
		}})
		if body := jvmtest.Scrape(ctx, port); !strings.Contains(body, "dummyapp_requests_total") {
			t.Errorf("the scrape of port %d has none of the application's metrics:\n%.300s", port, body)
		}
		if body := jvmtest.Scrape(ctx, ports[1-i]); body != "" {
			t.Errorf("port %d serves, too:\n%.300s", ports[1-i], body)
		}
	}
	run(helperapi.VerbUnload, helperapi.Request{Target: target})
	if body := jvmtest.Scrape(ctx, ports[1]); body != "" {
		t.Errorf("it serves after unload:\n%.300s", body)
	}
	sessions.Close()
	c.wantLeft(nil)
	eventually(t, "no process of the operator remains", func() bool { return len(c.ours()) == 0 })
	if !c.isAlive(pid) || app.Output() != "up\ndummyapp is ready\n" {
		t.Errorf("the application's output, or its end, shows the attachment:\n%s", app.Output())
	}
}

// passes reports whether the operator tries again after an error: the application is given
// some seconds to start, which a load then lacks, and a slow machine needs more than one.
func passes(err error) bool {
	return slices.ContainsFunc([]string{
		v1alpha1.ReasonJVMStarting, v1alpha1.ReasonAttachTimeout, v1alpha1.ReasonAgentNotAnswering,
		v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonExecTimeout,
	}, func(reason string) bool { return isReason(err, reason) })
}

// startsApp starts the test application in the container, and returns its PID there.
func (c *container) startsApp(jdk jvmtest.JDK) (app *jvmtest.Process, pid int) {
	c.t.Helper()
	program, err := readBuilt("apps/dummyapp/dummyapp.jar")
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("/mnt/app.jar", string(program), 0o644)
	// Java 8 does not know the option that suppresses the warning of JEP 451.
	java := c.commandAs(c.user, "sh", "-c", `echo up; exec "$@"`, "sh", filepath.Join(jdk.Home, "bin/java"),
		"-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading", "-XX:TieredStopAtLevel=1", "-Xmx64m", "-jar", "/mnt/app.jar")
	app, pid, _ = c.runs(java)
	return app, pid
}

// isAlive reports whether a process, by its PID in the container, runs.
func (c *container) isAlive(pid int) bool {
	return exec.CommandContext(c.t.Context(), "nsenter", "--target", fmt.Sprint(c.init), "--pid", "--mount", "--", "sh", "-c", "kill -0 "+fmt.Sprint(pid)).Run() == nil
}
