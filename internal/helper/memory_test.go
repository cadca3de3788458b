//go:build linux

package helper

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// limitedJVM starts a JVM in its own control group, with a heap that does not grow.
func limitedJVM(t *testing.T, jdk jvmtest.JDK, args ...string) (*jvmtest.Process, *jvmtest.MemoryGroup) {
	t.Helper()
	group := jvmtest.NeedMemoryGroup(t)
	app := jdk.Start(t, jvmtest.Options{
		Group: group,
		Args:  append([]string{"-Xms32m", "-XX:+AlwaysPreTouch", "-XX:+EnableDynamicAgentLoading"}, args...),
	})
	return app, group
}

// stagedInside stages the agent in the /tmp that a JVM sees, and returns the request to
// load it there with the default headroom.
func stagedInside(t *testing.T, app *jvmtest.Process) helperapi.Request {
	t.Helper()
	target := targetOf(t, app)
	return helperapi.Request{
		Target: target, Desired: stageAgent(t, target, anyMBean, jvmtest.FreePort(t)),
		MemoryHeadroom: helperapi.DefaultMemoryHeadroom,
	}
}

// A load could get a JVM killed that has little memory left below its limit: it is
// refused before anything is written or signaled.
func TestLittleMemory(t *testing.T) {
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app, group := limitedJVM(t, jdk)
		req := stagedInside(t, app)
		group.Leave(16 << 20)
		if found := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes; len(found) != 1 || found[0].Memory == nil ||
			found[0].Memory.Free > 20<<20 || found[0].Memory.Limit <= found[0].Memory.Free {
			t.Errorf("inspect reports %+v", found)
		}
		report := do(t, helperapi.VerbLoad, req)
		for range 20 {
			scrape(req.Desired.Port)
		}
		app.Unharmed()
		wantReason(t, report, helperapi.ReasonInsufficientMemory)
		if m := report.Error.Message; !strings.Contains(m, "needs 96 MiB") || !strings.Contains(m, "less than 16 MiB are free") && !strings.Contains(m, "less than 24 MiB are free") {
			t.Errorf("the sentence is: %s", m)
		}
		config := []byte(otherConfig)
		file := helperapi.NewFile("config-", config, ".yaml")
		report = do(t, helperapi.VerbStage, helperapi.Request{Target: req.Target, Files: []helperapi.File{file}, MemoryHeadroom: req.MemoryHeadroom}, config)
		wantReason(t, report, helperapi.ReasonInsufficientMemory)
		for _, name := range names(t) {
			if name == file.Name || strings.HasSuffix(name, directory.DesiredSuffix) {
				t.Errorf("%s was written", name)
			}
		}
		if _, err := os.Stat(fmt.Sprintf("/tmp/.java_pid%d", app.PID)); err == nil {
			t.Error("the JVM was signaled")
		}

		// The load succeeds as soon as there is enough memory.
		group.Leave(helperapi.DefaultMemoryHeadroom + 4<<20)
		wantReason(t, do(t, helperapi.VerbLoad, req), "")
	})
}

// The memory limit of the pod counts with what its other containers may use, which the
// container's control group does not show.
func TestLittleMemoryOfPod(t *testing.T) {
	cleanDirectory(t)
	app, group := limitedJVM(t, jvmtest.Need(t, 17))
	req := stagedInside(t, app)
	group.Leave(1 << 30) // as the kubelet sets it, to the limit of the pod
	memory := memoryOf(processOf(t, req.Target))
	if memory == nil {
		t.Fatal("the control group is not seen")
	}
	for says, pod := range map[string]*helperapi.PodMemory{
		"less than 24 MiB are left":                        {Limit: memory.Limit, Others: memory.Free - 20*mib},
		"less than 8 MiB are left":                         {Limit: memory.Limit, Others: memory.Limit},
		"container sidecar, which has no limit of its own": {Limit: memory.Limit, Unlimited: "sidecar"},
	} {
		req.PodMemory = pod
		report := do(t, helperapi.VerbLoad, req)
		app.Unharmed()
		wantReason(t, report, helperapi.ReasonInsufficientMemory)
		if !strings.Contains(report.Error.Message, says) {
			t.Errorf("the sentence lacks %q: %s", says, report.Error.Message)
		}
	}
	req.PodMemory = &helperapi.PodMemory{Limit: memory.Limit, Others: memory.Free - 200*mib}
	wantReason(t, do(t, helperapi.VerbLoad, req), "")

	// An agent that is there accepts another configuration beside a container without limit.
	config := []byte(otherConfig)
	file := helperapi.NewFile("config-", config, ".yaml")
	req.PodMemory = &helperapi.PodMemory{Limit: memory.Limit, Unlimited: "sidecar"}
	stage := helperapi.Request{Target: req.Target, Files: []helperapi.File{file}, MemoryHeadroom: req.MemoryHeadroom, PodMemory: req.PodMemory}
	wantReason(t, do(t, helperapi.VerbStage, stage, config), "")
	req.Desired.Config, req.Desired.ConfigSHA256 = file.Name, file.SHA256
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	app.Unharmed()
}

// A starting JVM uses more memory until it accepts the attach: free memory is checked
// again before anything is loaded.
func TestLittleMemoryOnceAttached(t *testing.T) {
	cleanDirectory(t)
	app, group := limitedJVM(t, jvmtest.Need(t, 17))
	req := stagedInside(t, app)
	group.Leave(helperapi.DefaultMemoryHeadroom + 4<<20)
	set(t, &attach, func(p jvm.Process, ctx context.Context, _ ...func() error) error {
		err := p.Attach(ctx)
		group.Leave(16 << 20)
		return err
	})
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, helperapi.ReasonInsufficientMemory)
	for _, name := range names(t) {
		if strings.HasSuffix(name, directory.DesiredSuffix) {
			t.Errorf("%s was written", name)
		}
	}
	app.Unharmed()
}

// The default headroom suffices for the load and the scrapes after it, even with the
// compiler that uses the most memory.
func TestDefaultMemoryHeadroom(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app, group := limitedJVM(t, jdk, "-XX:TieredStopAtLevel=4")
		req := stagedInside(t, app)
		group.Leave(helperapi.DefaultMemoryHeadroom + 4<<20)
		wantReason(t, do(t, helperapi.VerbLoad, req), "")
		for range 200 {
			if scrape(req.Desired.Port) == "" {
				t.Fatalf("no answer:\n%s", app.Output())
			}
		}
		app.Unharmed()
	})
}

// An agent that is present accepts another configuration regardless of free memory, and
// another implementation with less than a first load requires.
func TestLittleMemoryWithAgent(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	cleanDirectory(t)
	app, group := limitedJVM(t, jdk)
	req := stagedInside(t, app)
	desired := req.Desired
	serve := func() helperapi.Report { return do(t, helperapi.VerbLoad, req) }
	wantReason(t, serve(), "")
	for range 20 {
		scrape(req.Desired.Port)
	}

	group.Leave(8 << 20)
	config := []byte(otherConfig)
	file := helperapi.NewFile("config-", config, ".yaml")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: req.Target, Files: []helperapi.File{file}, MemoryHeadroom: req.MemoryHeadroom}, config), "")
	desired.Config, desired.ConfigSHA256 = file.Name, file.SHA256
	wantReason(t, serve(), "")

	jars, err := agentJars()
	if err != nil {
		t.Fatal(err)
	}
	other := anotherJar(jars[1])
	file = helperapi.NewFile("exporter-", other, ".jar")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: req.Target, Files: []helperapi.File{file}, MemoryHeadroom: req.MemoryHeadroom}, other), "")
	before := *desired
	desired.Implementation, desired.ImplementationSHA256 = file.Name, file.SHA256
	wantReason(t, serve(), helperapi.ReasonInsufficientMemory)
	if scrape(req.Desired.Port) == "" {
		t.Error("the old implementation serves no more")
	}
	*desired, before = before, *desired
	wantReason(t, serve(), "")

	group.Leave(helperapi.DefaultMemoryHeadroom / 2)
	*desired = before
	wantReason(t, serve(), "")
	wantMark(t, serve(), helperapi.AgentRunning, 1)
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
	app.Unharmed()
}

// The files for a first load are not staged where that load would be refused.
func TestLittleMemoryForStaging(t *testing.T) {
	cleanDirectory(t)
	app, group := limitedJVM(t, jvmtest.Need(t, 17))
	group.Leave(helperapi.DefaultMemoryHeadroom - 8<<20)
	content := []byte("no agent")
	file := helperapi.NewFile("agent-", content, ".jar")
	req := helperapi.Request{Target: targetOf(t, app), Files: []helperapi.File{file}, MemoryHeadroom: helperapi.DefaultMemoryHeadroom}
	wantReason(t, do(t, helperapi.VerbStage, req, content), helperapi.ReasonInsufficientMemory)
	if got := names(t); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
	req.MemoryHeadroom = 0
	wantReason(t, do(t, helperapi.VerbStage, req, content), "")
	req.MemoryHeadroom = helperapi.DefaultMemoryHeadroom
	wantReason(t, do(t, helperapi.VerbStage, req, content), "") // the files exist already
}

// The message of a refusal is stable as long as free memory is roughly the same.
func TestMemoryInMiB(t *testing.T) {
	for _, tc := range []struct{ bytes, step, want int64 }{
		{0, 8, 0}, {1, 8, 8}, {8 * mib, 8, 8}, {8*mib + 1, 8, 16}, {15 * mib, 8, 16}, {64*mib + 1, 1, 65},
	} {
		if got := inMiB(tc.bytes, tc.step); got != tc.want {
			t.Errorf("%d bytes in steps of %d MiB are %d, want %d", tc.bytes, tc.step, got, tc.want)
		}
	}
}

// anotherJar returns the same jar with another digest: with a comment, whose length is
// the last field of a zip file without one.
func anotherJar(jar []byte) []byte {
	other := slices.Clone(jar)
	other[len(other)-2] = 1
	return append(other, '!')
}

// Where a node agent cannot read what the pod leaves, the request has to have its limit.
func TestNodePodMemory(t *testing.T) {
	req := helperapi.Request{PodUID: "pod", ContainerID: string(jvm.InPod("pod", "container"))}
	for name, test := range map[string]struct {
		free    int64
		limited bool
		err     error
		known   *helperapi.PodMemory
		want    helperapi.Reason
	}{
		"enough":                             {free: 96 * mib, limited: true},
		"too little":                         {free: 95 * mib, limited: true, want: helperapi.ReasonInsufficientMemory},
		"no limit":                           {},
		"not readable":                       {err: os.ErrPermission, want: helperapi.ReasonInsufficientMemory},
		"not readable, the limit is known":   {err: os.ErrPermission, known: &helperapi.PodMemory{Limit: 512 * mib}},
		"not readable, known without figure": {err: os.ErrPermission, known: &helperapi.PodMemory{}, want: helperapi.ReasonInsufficientMemory},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, &freePodMemory, func(string) (cgroup.Memory, bool, error) {
				return cgroup.Memory{Limit: 512 * mib, Free: test.free}, test.limited, test.err
			})
			req.PodMemory = test.known
			wantReason(t, typedReport(checkPodGroup(req, 96*mib, "The first load")), test.want)
		})
	}
}
