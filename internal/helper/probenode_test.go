//go:build linux

package helper

import (
	"fmt"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A node agent does not reach an endpoint. It finds that the agent reports its port, and that
// the JVM, no other process, listens there.
func TestProbeOnNode(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group = true, pod
	app := jvmtest.Need(t, 17).Start(t, o)
	found := inspectOne(t, pod)
	port := jvmtest.FreePort(t)
	_, foreign := listen(t) // in the same network namespace
	probe := func(port int32) helperapi.Report {
		t.Helper()
		return onNode(t, pod, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: port, Path: "/metrics"}})
	}
	wantReason(t, probe(port), helperapi.ReasonEndpointNotServing)
	wantReason(t, probe(foreign), helperapi.ReasonEndpointNotServing)
	req := helperapi.Request{Target: &found.Target, Desired: desiredOn(t, pod, port)}
	wantReason(t, onNode(t, pod, helperapi.VerbLoad, req), "")
	wantReason(t, probe(port), "")
	wantReason(t, probe(foreign), helperapi.ReasonEndpointNotServing)
	wantReason(t, probe(0), helperapi.ReasonBadRequest)
	wantReason(t, onNode(t, pod, helperapi.VerbStatus, req), "")
	wantReason(t, typedReport(checkListening(processOf(t, targetOf(t, app)), foreign)), helperapi.ReasonEndpointNotServing)
	wantReason(t, onNode(t, pod, helperapi.VerbUnload, req), "")
	wantReason(t, probe(port), helperapi.ReasonEndpointNotServing)
	app.Unharmed()
}

func typedReport(err error) helperapi.Report {
	if err == nil {
		return helperapi.Report{}
	}
	return helperapi.Report{Error: typed(err)}
}

// The port of a stock exporter is known on a node if the options name it and the JVM listens
// on it: no page is requested.
func TestStockExporterOnNode(t *testing.T) {
	cleanDirectory(t)
	t.Setenv("TMPDIR", "/var/tmp") // the container has another /tmp
	pod := jvmtest.NeedPod(t)
	jdk, port, other := jvmtest.Need(t, 17), jvmtest.FreePort(t), jvmtest.FreePort(t)
	jar, options := stock(t, port)
	app := jdk.Start(t, jvmtest.Options{Group: pod, Container: true, Args: []string{fmt.Sprintf("-javaagent:%s=%s", jar, options)}})
	process := inspectOne(t, pod)
	if process.Exporter == nil || process.Exporter.Port != port {
		t.Errorf("the exporter is %+v, want port %d", process.Exporter, port)
	}
	req := helperapi.Request{Target: &process.Target, Desired: desiredOn(t, pod, other)}
	wantReason(t, onNode(t, pod, helperapi.VerbLoad, req), helperapi.ReasonStockExporter)
	app.Unharmed()

	pod = jvmtest.NeedPod(t)
	app = jdk.Start(t, jvmtest.Options{Group: pod, Container: true})
	attachStock(t, app, other)
	if process := inspectOne(t, pod); process.Exporter == nil || process.Exporter.Port != 0 {
		t.Errorf("the exporter is %+v, want an unknown port", process.Exporter)
	}
	app.Unharmed()
}
