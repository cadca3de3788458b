//go:build linux

package helper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// The node agent refuses its own pod, what is in no pod, and containers with power over the
// node, as the ones of this test have: they share all but their PIDs and mounts.
func TestNodeAgent(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true, Group: pod})
	target, own := targetIn(pod), inTestPod(t)
	everything := NodeAgent{Allowed: power.Allowed{
		"allow-host-network": nil, "allow-host-ipc": nil, "allow-privileged": nil, "allow-capabilities": {"ALL"}, "allow-host-paths": {"/"},
	}}
	without := func(flag string) NodeAgent {
		allowed := power.Allowed{}
		for name, values := range everything.Allowed {
			if name != flag {
				allowed[name] = values
			}
		}
		return NodeAgent{Allowed: allowed}
	}
	for name, test := range map[string]struct {
		agent  NodeAgent
		target helperapi.NodeTarget
		want   helperapi.Reason
		names  string
	}{
		"allowed":           {everything, target, "", ""},
		"nothing allowed":   {NodeAgent{}, target, helperapi.ReasonNodeAgentRefused, "start the node agent with --allow-host-network and --allow-host-ipc and "},
		"not its network":   {without("allow-host-network"), target, helperapi.ReasonNodeAgentRefused, "shares the node's network (hostNetwork); the node agent does not attach to it. To allow that, start the node agent with --allow-host-network."},
		"not its paths":     {without("allow-host-paths"), target, helperapi.ReasonNodeAgentRefused, "start the node agent with --allow-host-paths=/"},
		"its own pod":       {everything, helperapi.NodeTarget{PodUID: own, ContainerID: pod.ContainerID}, helperapi.ReasonNodeAgentRefused, "the node agent's own"},
		"another pod":       {everything, helperapi.NodeTarget{PodUID: strings.Repeat("0", 32), ContainerID: pod.ContainerID}, helperapi.ReasonProcessGone, "No process of the container runs any more."},
		"another container": {everything, helperapi.NodeTarget{PodUID: pod.UID, ContainerID: strings.Repeat("0", 64)}, helperapi.ReasonProcessGone, ""},
		"no pod":            {everything, helperapi.NodeTarget{ContainerID: pod.ContainerID}, helperapi.ReasonBadRequest, ""},
		"a path":            {everything, helperapi.NodeTarget{PodUID: pod.UID, ContainerID: "../" + pod.ContainerID}, helperapi.ReasonBadRequest, ""},
	} {
		err := test.agent.Check(test.target)
		if err == nil && test.want == "" {
			continue
		}
		if err == nil || typed(err).Reason != test.want || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: %v, want %q: %s", name, err, test.want, test.names)
		}
		if err != nil && typed(err).Unsettled {
			t.Errorf("%s: the refusal is not settled", name)
		}
	}
	app.Unharmed()
}

// Nothing that a container does between two looks makes it another: a power that the runtime
// does not bring is final.
func TestNodeAgentSettled(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true, Group: pod, Capabilities: "-all,+chown"})
	before := lookAgain
	t.Cleanup(func() { lookAgain = before })
	lookAgain = func() { t.Error("it is looked at again") }
	err := NodeAgent{Allowed: power.Allowed{"allow-host-paths": {"/"}, "allow-host-ipc": nil}}.Check(targetIn(pod))
	if err == nil || !strings.Contains(err.Error(), "--allow-host-network.") {
		t.Errorf("got %v", err)
	}
	app.Unharmed()
}

// A process that the runtime has enter a container is in its control groups, with the
// namespaces of the node still. It is none of the container's, and no power of it.
func TestNodeWhileRuntimeEnters(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, jvmtest.Options{Container: true, Group: pod})
	agent := NodeAgent{Allowed: power.Allowed{
		"allow-host-network": nil, "allow-host-ipc": nil, "allow-privileged": nil, "allow-capabilities": {"ALL"}, "allow-host-paths": {"/"},
	}}
	if err := agent.Check(targetIn(pod)); err != nil {
		t.Fatal(err)
	}
	entering := jdk.Start(t, jvmtest.Options{Group: pod})
	if got := inspectOne(t, pod); got.PID != 1 {
		t.Errorf("found process %d, want 1", got.PID)
	}
	tmp, err := jvm.InPod(pod.UID, pod.ContainerID).OpenTmp()
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	marker, err := os.CreateTemp("", "node-") //nolint:usetesting // in /tmp itself
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(marker.Name())
	defer marker.Close()
	if _, err := tmp.Lstat(filepath.Base(marker.Name())); err == nil {
		t.Error("it is the /tmp of the node")
	}
	before := lookAgain
	t.Cleanup(func() { lookAgain = before })
	lookAgain = func() { entering.Stop() } // it has entered, and ended
	if err := agent.Check(targetIn(pod)); err != nil {
		t.Errorf("refused: %v", err)
	}
	app.Unharmed()
}
