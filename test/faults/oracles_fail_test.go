package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// Each oracle complains about a history in which its rule is broken, and about nothing before.
func TestOraclesComplain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doctor func(*testing.T, *run)
		want   string
	}{
		"an agent is loaded twice":          {func(_ *testing.T, r *run) { r.jvms[0].Loads = 2 }, "JVM 0: 2 loads, 0 signals"},
		"a JVM is signaled twice":           {func(_ *testing.T, r *run) { r.jvms[0].Quits = 2 }, "JVM 0: 0 loads, 2 signals"},
		"a JVM that refuses is signaled":    {func(_ *testing.T, r *run) { r.refusing[0].Quits = 1 }, "refusing JVM 0: 0 loads, 1 signals"},
		"an agent is loaded into it":        {func(_ *testing.T, r *run) { r.refusing[0].Loads = 1 }, "refusing JVM 0: 1 loads, 0 signals"},
		"no record states the intent":       {loadWithoutIntent, "no record states the intent"},
		"files are left":                    {stageAgent, "the agent directory is left"},
		"a file is incomplete in the end":   {damage, "files are incomplete"},
		"a command leaves part of a file":   {leavePart, "files are incomplete"},
		"a pod that is gone is executed in": {executeInGone, "3 requests for execs into a pod that is gone"},
		"more is written than allowed":      {func(_ *testing.T, r *run) { r.proxy.writes = []string{"PATCH pods by a", "PATCH pods by a"} }, "2 writes more than allowed"},
		"more is executed than allowed":     {func(_ *testing.T, r *run) { r.proxy.execs = 1 }, "1 execs more than allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reference := &run{world: &world{proxy: &proxy{}}, marks: make([]mark, len(scenario))}
			r := newRun(t, plan{}, reference)
			complaints := func() []string { return append(r.check(), r.checkCosts(reference)...) }
			if before := complaints(); len(before) > 0 {
				t.Fatalf("the oracles complain about nothing: %q", before)
			}
			tc.doctor(t, r)
			if got := complaints(); !slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, tc.want) }) {
				t.Errorf("the oracles complain: %q, want %q", got, tc.want)
			}
		})
	}
}

func loadWithoutIntent(_ *testing.T, r *run) {
	request := helperapi.Request{Target: &helperapi.Target{PID: fakenode.JavaPID}, Desired: &helperapi.Desired{}}
	r.observe(fakenode.Place{Pod: r.pod.UID, Name: containerName}, helperapi.VerbLoad, request)
}

// stageAgent stages the agent, as the operator does.
func stageAgent(t *testing.T, r *run) {
	t.Helper()
	in := transport.Container{Namespace: r.namespace, Pod: podName, PodUID: r.pod.UID, Name: containerName}
	_, err := r.containers.Exec(in, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{artifacts.Agent.File}}, []transport.Blob{artifacts.Agent})
	r.must(err)
}

// damage leaves a part of the agent under its name.
func damage(t *testing.T, r *run) {
	t.Helper()
	stageAgent(t, r)
	file := filepath.Join(r.containers.Get(r.pod.UID, containerName).AgentDirectory(), artifacts.Agent.Name)
	r.must(os.Truncate(file, artifacts.Agent.Size/2))
}

// leavePart does so when a command ends; the container is gone before the scenario ends.
func leavePart(t *testing.T, r *run) {
	t.Helper()
	damage(t, r)
	c := r.containers.Get(r.pod.UID, containerName)
	r.containers.OnEnd(c)
	c.RemoveFiles()
}

func executeInGone(_ *testing.T, r *run) {
	r.gone, r.proxy.execs = &mark{}, attempt+1
}

// A step does not end while the operator writes.
func TestOracleOfIdleComplains(t *testing.T) {
	t.Parallel()
	r := execute(t, plan{
		stepTimeout: 20 * time.Second,
		arm:         func(_ *run, spec *operatorSpec) { spec.Wrong = hot },
	}, nil)
	if got := r.check(); !slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, "the operator is not idle") }) {
		t.Errorf("the oracles complain: %q, want one of an operator that is not idle", got)
	}
}

// An operator that does not end when it is asked to is noticed.
func TestOracleOfEndComplains(t *testing.T) {
	t.Parallel()
	r := newRun(t, plan{stepTimeout: 3 * time.Second}, nil)
	r.start(operatorSpec{Host: r.proxy.server.URL, Namespace: r.namespace, Wrong: deaf})
	r.export()
	select {
	case <-r.messages: // it has begun to work
	case <-time.After(stepTimeout):
		t.Fatal("the operator does not begin")
	}
	r.stop(r.operator)
	if got := r.check(); !slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, "the operator does not end") }) {
		t.Errorf("the oracles complain: %q, want one of an operator that does not end", got)
	}
}
