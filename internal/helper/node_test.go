//go:build linux

package helper

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// onNode asks a child of a node agent, which is bound to the container of a pod.
func onNode(t *testing.T, in *jvmtest.Pod, verb helperapi.Verb, req helperapi.Request, blobs ...[]byte) helperapi.Report {
	t.Helper()
	target := targetIn(in)
	req.PodUID, req.ContainerID = target.PodUID, target.ContainerID
	ask := func() helperapi.Report {
		return Helper{Version: "test", Target: &target}.Do(t.Context(), verb, req, bytes.NewReader(bytes.Join(blobs, nil)))
	}
	report := ask()
	for end := time.Now().Add(time.Minute); starting(report) && time.Now().Before(end); {
		report = ask()
	}
	if !report.FromNode {
		t.Error("the report is not said to be from a node agent")
	}
	return report
}

func targetIn(in *jvmtest.Pod) helperapi.NodeTarget {
	return helperapi.NodeTarget{PodUID: in.UID, ContainerID: in.ContainerID}
}

// desiredOn stages the agent in a container of the node, and returns what is to be loaded.
func desiredOn(t *testing.T, in *jvmtest.Pod, port int32) *helperapi.Desired {
	t.Helper()
	jars, err := agentJars()
	if err != nil {
		t.Fatal(err)
	}
	agent, exporter, rules := helperapi.NewFile("agent-", jars[0], ".jar"), helperapi.NewFile("exporter-", jars[1], ".jar"), helperapi.NewFile("config-", []byte(anyMBean), ".yaml")
	report := onNode(t, in, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{agent, exporter, rules}}, jars[0], jars[1], []byte(anyMBean))
	wantReason(t, report, "")
	return &helperapi.Desired{
		Agent: agent.Name, AgentSHA256: agent.SHA256,
		Implementation: exporter.Name, ImplementationSHA256: exporter.SHA256,
		Config: rules.Name, ConfigSHA256: rules.SHA256,
		Port: port,
	}
}

// inspectOne returns the only process of a container.
func inspectOne(t *testing.T, in *jvmtest.Pod) helperapi.Process {
	t.Helper()
	report := onNode(t, in, helperapi.VerbInspect, helperapi.Request{})
	wantReason(t, report, "")
	if len(report.Processes) != 1 {
		t.Fatalf("found %+v", report.Processes)
	}
	return report.Processes[0]
}

// A child of a node agent serves one container of the node, whose processes it names as the
// container does, and touches no other.
func TestNode(t *testing.T) {
	cleanDirectory(t)
	pod, other := jvmtest.NeedPod(t), jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group = true, pod
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, o)
	o.Group = other
	beside := jdk.Start(t, o)

	found := inspectOne(t, pod)
	if found.PID != 1 || found.StartTime != targetOf(t, app).StartTime {
		t.Errorf("found %+v", found.Target)
	}
	if hello := (Helper{Target: new(targetIn(pod))}).Hello(); hello.ContainerID != pod.ContainerID || hello.Instance != "" || hello.InitStartTime != found.StartTime {
		t.Errorf("hello is %+v", hello)
	}
	port := jvmtest.FreePort(t)
	req := helperapi.Request{Target: &found.Target, Desired: desiredOn(t, pod, port)}
	if _, err := os.Lstat(helperapi.AgentDirectory); err == nil {
		t.Errorf("%s is in this /tmp, not in the container's", helperapi.AgentDirectory)
	}
	report := onNode(t, pod, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	if scrape(port) == "" {
		t.Error("no metrics")
	}
	// One of the container's own helpers finds what the node agent has left, and the reverse.
	mark := wantMark(t, do(t, helperapi.VerbStatus, helperapi.Request{Target: targetOf(t, app)}), helperapi.AgentRunning, 1)
	if mark.Port != port {
		t.Errorf("port is %d", mark.Port)
	}
	wantReason(t, onNode(t, pod, helperapi.VerbStatus, req), "")
	wantReason(t, onNode(t, other, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, app), Desired: req.Desired}), helperapi.ReasonProcessGone)
	if inspectOne(t, other).AgentJarOpen {
		t.Error("the agent is in the other container")
	}
	wantReason(t, onNode(t, pod, helperapi.VerbUnload, req), "")
	app.Unharmed()
	beside.Unharmed()

	app.Stop()
	wantReason(t, onNode(t, pod, helperapi.VerbInspect, helperapi.Request{}), helperapi.ReasonProcessGone)
	wantReason(t, onNode(t, pod, helperapi.VerbUnload, req), "")
}

// A child of a node agent refuses requests about any other container than its own, and a
// helper in a container those that name one of a node.
func TestNodeBound(t *testing.T) {
	const uid, id = "0f3f5a6e-1111-4222-8333-444455556666", "c0ffee"
	own := &helperapi.NodeTarget{PodUID: uid, ContainerID: id}
	for name, test := range map[string]struct {
		target *helperapi.NodeTarget
		req    helperapi.Request
		want   helperapi.Reason
	}{
		"its own":                   {own, helperapi.Request{PodUID: uid, ContainerID: id}, helperapi.ReasonProcessGone},
		"of another pod":            {own, helperapi.Request{PodUID: "0f3f5a6e-1111-4222-8333-444455556667", ContainerID: id}, helperapi.ReasonBadRequest},
		"another":                   {own, helperapi.Request{PodUID: uid, ContainerID: "c0ffef"}, helperapi.ReasonBadRequest},
		"none":                      {own, helperapi.Request{}, helperapi.ReasonBadRequest},
		"a pod":                     {own, helperapi.Request{PodUID: uid}, helperapi.ReasonBadRequest},
		"a container of a node":     {nil, helperapi.Request{ContainerID: uid + "/" + id}, helperapi.ReasonBadRequest},
		"a target without a pod":    {&helperapi.NodeTarget{ContainerID: id}, helperapi.Request{ContainerID: id}, helperapi.ReasonBadRequest},
		"a target of two":           {&helperapi.NodeTarget{PodUID: uid, ContainerID: id + "/x"}, helperapi.Request{PodUID: uid, ContainerID: id + "/x"}, helperapi.ReasonBadRequest},
		"a target in another place": {&helperapi.NodeTarget{PodUID: uid + "/..", ContainerID: id}, helperapi.Request{PodUID: uid + "/..", ContainerID: id}, helperapi.ReasonBadRequest},
		"a target without an ID":    {&helperapi.NodeTarget{PodUID: uid}, helperapi.Request{PodUID: uid}, helperapi.ReasonBadRequest},
	} {
		for _, verb := range []helperapi.Verb{helperapi.VerbInspect, helperapi.VerbStage} {
			report := Helper{Target: test.target}.Do(t.Context(), verb, test.req, nil)
			got := helperapi.Reason("")
			if report.Error != nil {
				got = report.Error.Reason
			}
			if got != test.want {
				t.Errorf("%s of %s: %v, want %q", verb, name, report.Error, test.want)
			}
		}
	}
}

// The limit of the pod is not visible in a container, and no trial of a node agent is in it:
// it is read in the control groups of the node. Where these are hidden, nothing is attached.
func TestNodeFewTasks(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group, o.GroupsHidden = true, pod, true
	app := jvmtest.Need(t, 17).Start(t, o)
	found := inspectOne(t, pod)
	req := helperapi.Request{Target: &found.Target, Desired: desiredOn(t, pod, jvmtest.FreePort(t))}
	const rights = ",+setuid,+setgid,+sys_ptrace"
	refused := func(why string) {
		t.Helper()
		report := withRights(t, pod, rights, helperapi.VerbLoad, req, nil)
		wantReason(t, report, helperapi.ReasonInsufficientThreads)
		if !strings.Contains(report.Error.Message, why) {
			t.Errorf("refused by %q, want %q", report.Error.Message, why)
		}
		app.Unharmed()
		if wanted := withRights(t, pod, rights, helperapi.VerbInspect, helperapi.Request{}, nil).Processes[0].Refusal; wanted == nil || wanted.Reason != helperapi.ReasonInsufficientThreads {
			t.Errorf("an inspection reports %v", wanted)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/tmp/.java_pid1", app.PID)); err == nil {
			t.Error("the JVM was signaled")
		}
	}
	pod.Tasks.Leave(9)
	refused("32 tasks (processes and threads) must be free, and less than 16 are below the limit of")
	pod.Tasks.Leave(64)
	t.Run("hidden", func(t *testing.T) {
		mount(t, "hidden", "/sys/fs/cgroup", "tmpfs", 0, "")
		refused("the node's control groups are not visible")
	})
	wantReason(t, withRights(t, pod, rights, helperapi.VerbLoad, req, nil), "")
	wantReason(t, onNode(t, pod, helperapi.VerbUnload, req), "")
	app.Unharmed()
}

// The JVM of a node agent's target may run as any user, with the capabilities of runtimes, and
// in a user namespace (hostUsers: false).
func TestNodeUsers(t *testing.T) {
	for name, o := range map[string]jvmtest.Options{
		"root, with the capabilities of runtimes": {Capabilities: defaultCapabilities},
		"root, without capabilities":              {Capabilities: "-all"},
		"another user":                            {User: nobody},
		"root of a user namespace":                {UserNamespace: true},
		"another user of a user namespace":        {UserNamespace: true, User: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
				pod := jvmtest.NeedPod(t)
				o.Container, o.Group, o.Args = true, pod, silentLoad.Args
				app := jdk.Start(t, o)
				found := inspectOne(t, pod)
				if found.UID != int(o.User) || found.GID != int(o.User) {
					t.Errorf("user and group are %d and %d, want those that the container sees", found.UID, found.GID)
				}
				port := jvmtest.FreePort(t)
				req := helperapi.Request{Target: &found.Target, Desired: desiredOn(t, pod, port)}
				report := onNode(t, pod, helperapi.VerbLoad, req)
				wantReason(t, report, "")
				wantMark(t, report, helperapi.AgentRunning, 1)
				wantReason(t, onNode(t, pod, helperapi.VerbStatus, req), "")
				want := int(o.User)
				if o.UserNamespace {
					want += jvmtest.NamespaceRoot
				}
				dir := fmt.Sprintf("/proc/%d/root%s", app.PID, helperapi.AgentDirectory)
				for _, name := range append(namesIn(t, dir), ".") {
					info, err := os.Stat(filepath.Join(dir, name))
					if err != nil {
						t.Fatal(err)
					}
					if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != want {
						t.Errorf("%s belongs to %d, want %d", name, owner, want)
					}
				}
				wantReason(t, onNode(t, pod, helperapi.VerbUnload, req), "")
				if _, err := os.Stat(dir); err == nil {
					t.Error("the agent directory is left")
				}
				app.Unharmed()
			})
		})
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
