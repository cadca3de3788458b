//go:build linux

package helper

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// nodeCommand makes this binary perform one operation of a node agent, of the argument, and
// print its report.
const nodeCommand = "act-on-node"

// act is an operation of a node agent. Without a verb, it checks the target.
type act struct {
	Target  helperapi.NodeTarget
	Verb    helperapi.Verb
	Request helperapi.Request
}

func actOnNode(argument string) int {
	jvm.StartTimeout = 0
	const prSetDumpable = 4                                              // as the helper itself is
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) // it cannot fail
	var a act
	if err := json.Unmarshal([]byte(argument), &a); err != nil {
		panic(err)
	}
	var report helperapi.Report
	if a.Verb == "" {
		report = typedReport(NodeAgent{Allowed: power.Allowed{
			"allow-host-network": nil, "allow-host-ipc": nil, "allow-privileged": nil, "allow-capabilities": {"ALL"}, "allow-host-paths": {"/"},
		}}.Check(a.Target))
	} else {
		a.Request.PodUID, a.Request.ContainerID = a.Target.PodUID, a.Target.ContainerID
		report = Helper{Target: &a.Target}.Do(context.Background(), a.Verb, a.Request, os.Stdin)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
	return 0
}

// withRights performs an operation of a node agent with no other capabilities than these.
func withRights(t *testing.T, in *jvmtest.Pod, rights string, verb helperapi.Verb, req helperapi.Request, content []byte) helperapi.Report {
	t.Helper()
	argument, err := json.Marshal(act{targetIn(in), verb, req})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	// As in a container of its own, the node's control groups are not visible.
	const hidden = `mount -t tmpfs hidden /sys/fs/cgroup && exec "$@"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", hidden, "sh", "setpriv", "--bounding-set=-all"+rights, "/proc/self/fd/3", nodeCommand, string(argument))
	cmd.ExtraFiles, cmd.Stdin = []*os.File{self}, bytes.NewReader(content)
	out, err := cmd.Output()
	var report helperapi.Report
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return report
}

// docs/node-agent.md has the capabilities that a node agent needs: all operations succeed with
// these, and without one of them those fail that take it.
func TestNodeRights(t *testing.T) {
	const looks = "check-target inspect status"
	const all, mine = looks + " stage load check unload", "inspect stage load check status unload"
	for name, test := range map[string]struct {
		options jvmtest.Options
		fail    map[string]string // without a capability
	}{
		"root":           {jvmtest.Options{Capabilities: defaultCapabilities}, map[string]string{"sys_ptrace": all}},
		"another user":   {jvmtest.Options{User: nobody}, map[string]string{"setuid": mine, "setgid": mine, "sys_ptrace": looks + " load check unload"}},
		"user namespace": {jvmtest.Options{UserNamespace: true, User: 1000}, map[string]string{"setuid": mine, "setgid": mine, "sys_ptrace": all}},
	} {
		for _, without := range []string{"none", "setuid", "setgid", "sys_ptrace"} {
			t.Run(name+", without "+without, func(t *testing.T) {
				pod, o := jvmtest.NeedPod(t), test.options
				o.Container, o.Group, o.Args = true, pod, silentLoad.Args
				app := jvmtest.Need(t, 17).Start(t, o)
				rights := strings.ReplaceAll(",+setuid,+setgid,+sys_ptrace", ",+"+without, "")
				for _, verb := range []helperapi.Verb{"", helperapi.VerbInspect, helperapi.VerbStage, helperapi.VerbLoad, helperapi.VerbCheck, helperapi.VerbStatus, helperapi.VerbUnload} {
					report := rightsReport(t, pod, app, rights, verb)
					refused := report.Error
					if refused == nil && len(report.Processes) > 0 {
						refused = report.Processes[0].Refusal
					}
					name := cmp.Or(string(verb), "check-target")
					if want := slices.Contains(strings.Fields(test.fail[without]), name); (refused != nil) != want {
						t.Errorf("%s: %v, want a failure: %v", name, refused, want)
					}
					if verb == "" && refused != nil && !refused.Unsettled { // the agent lacks a right, whatever the container is
						t.Errorf("%s: the container counts as refused: %v", name, refused)
					}
				}
				app.Unharmed()
			})
		}
	}
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/node-agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, capability := range []string{"SYS_PTRACE", "SETUID", "SETGID", "CHOWN"} {
		if !bytes.Contains(page, []byte("\n| `"+capability+"` | yes | ")) {
			t.Errorf("docs/node-agent.md has no row of %s", capability)
		}
	}
}

// A key in a directory that the container's root has made, for a JVM of another user, is the
// only file whose owner changes.
func TestNodeRightsOfKey(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group, o.User = true, pod, nobody
	app := jvmtest.Need(t, 17).Start(t, o)
	dir := fmt.Sprintf("/proc/%d/root%s", app.PID, helperapi.AgentDirectory)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const key = "{}"
	file := helperapi.NewFile("security-", []byte(key), "")
	found := inspectOne(t, pod)
	req := helperapi.Request{Target: &found.Target, Files: []helperapi.File{file}}
	wantReason(t, withRights(t, pod, ",+setuid,+setgid,+sys_ptrace", helperapi.VerbStage, req, []byte(key)), helperapi.ReasonUserMismatch)
	for range 2 { // the second time, the file of the other user is read
		wantReason(t, withRights(t, pod, ",+setuid,+setgid,+sys_ptrace,+chown", helperapi.VerbStage, req, []byte(key)), "")
	}
	info, err := os.Stat(filepath.Join(dir, file.Name))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != nobody || info.Mode().Perm() != 0o600 {
		t.Errorf("the key belongs to %d, with %v", owner, info.Mode())
	}
	present := withRights(t, pod, ",+setuid,+setgid,+sys_ptrace", helperapi.VerbInspect, req, nil)
	if len(present.Files) != 1 {
		t.Errorf("the key is not found: %+v", present)
	}
	app.Unharmed()
}

// rightsReport performs one operation of a session; without a verb, the check of the target.
func rightsReport(t *testing.T, pod *jvmtest.Pod, app *jvmtest.Process, rights string, verb helperapi.Verb) helperapi.Report {
	t.Helper()
	target := &helperapi.Target{PID: 1, StartTime: targetOf(t, app).StartTime}
	jars, err := agentJars()
	if err != nil {
		t.Fatal(err)
	}
	agent, exporter, rules := helperapi.NewFile("agent-", jars[0], ".jar"), helperapi.NewFile("exporter-", jars[1], ".jar"), helperapi.NewFile("config-", []byte(anyMBean), ".yaml")
	desired := &helperapi.Desired{
		Agent: agent.Name, AgentSHA256: agent.SHA256,
		Implementation: exporter.Name, ImplementationSHA256: exporter.SHA256,
		Config: rules.Name, ConfigSHA256: rules.SHA256,
	}
	req := helperapi.Request{Target: target}
	switch verb { //nolint:exhaustive // the others have a target alone
	case helperapi.VerbStage:
		req.Files = []helperapi.File{agent, exporter, rules}
	case helperapi.VerbLoad:
		req.Desired = desired
	case helperapi.VerbCheck:
		req.Candidate = &rules
	case "", helperapi.VerbInspect:
		req.Target = nil
	}
	return withRights(t, pod, rights, verb, req, bytes.Join([][]byte{jars[0], jars[1], []byte(anyMBean)}, nil))
}

// defaultCapabilities are those that runtimes give to containers.
const defaultCapabilities = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"

// A node agent acts as nobody who has made the agent directory before, but as the JVM's user
// and the container's root.
func TestNodeForeignDirectory(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group, o.User = true, pod, nobody
	app := jvmtest.Need(t, 17).Start(t, o)
	dir := fmt.Sprintf("/proc/%d/root%s", app.PID, helperapi.AgentDirectory)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, intruder, intruder); err != nil {
		t.Fatal(err)
	}
	file := helperapi.NewFile("config-", []byte(anyMBean), ".yaml")
	for name, target := range map[string]*helperapi.Target{"container": nil, "JVM": {PID: 1, StartTime: targetOf(t, app).StartTime}} {
		report := onNode(t, pod, helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{file}}, []byte(anyMBean))
		if report.Error == nil || report.Error.Reason != helperapi.ReasonAgentDirectoryNotTrusted {
			t.Errorf("for the %s: %v", name, report.Error)
		}
	}
	if left := namesIn(t, dir); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
	app.Unharmed()
}
