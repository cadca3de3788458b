//go:build linux

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const agentDirectory = helperapi.AgentDirectory

var (
	jar      = transport.NewBlob("agent-", []byte(strings.Repeat("jar", 1<<16)), ".jar")
	exporter = transport.NewBlob("exporter-", []byte("exporter"), ".jar")
	config   = transport.NewBlob("config-", []byte("rules: []\n"), ".yaml")
)

// stages requests the staging of two files.
func stages() call {
	return call{
		verb:    helperapi.VerbStage,
		request: helperapi.Request{Files: []helperapi.File{jar.File, config.File}},
		blobs:   []transport.Blob{jar, config},
	}
}

// staged are the names of the files.
var staged = []string{jar.Name, config.Name}

// has returns a row's given: a script in the container, beside a process that maps
// a libjvm.so.
func has(script string) func(*container, *call) {
	return func(c *container, _ *call) {
		c.sh(script)
		c.startsLibrary("/mnt/jdk/lib/server/libjvm.so")
	}
}

// startsLibrary starts a process that maps a copy of an arbitrary library, and returns
// its PIDs.
func (c *container) startsLibrary(path string) (inside, outside int) {
	c.t.Helper()
	c.sh(`mkdir -p "$(dirname ` + path + `)" && cp "$(/sbin/ldconfig -p | awk '/libm\.so\.6/ {print $NF; exit}')" ` + path)
	return c.maps(path, c.command("sh", "-c", "echo up; exec env LD_PRELOAD="+path+" sleep 1000"))
}

// maps starts a process, and waits until it maps a library: before, it has no JVM.
func (c *container) maps(path string, command *exec.Cmd) (inside, outside int) {
	c.t.Helper()
	inside, outside = c.starts(command)
	eventually(c.t, "the process maps "+path, func() bool {
		maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", outside))
		return strings.Contains(string(maps), path)
	})
	return inside, outside
}

// Obstacles in place of the operator's files, and a lack of space for them.
func TestPlaces(t *testing.T) {
	const untrusted, full = v1alpha1.ReasonAgentDirectoryNotTrusted, v1alpha1.ReasonNoSpace
	own := "mkdir -m 755 " + agentDirectory + "; cd " + agentDirectory + "; "
	rows := map[string]row{
		"/tmp is full":                  {tmp: ",size=64k", given: has("true"), reason: full},
		"/tmp has no space for the jar": {tmp: ",size=64k", given: has(own), reason: full},
		"/tmp has no inodes":            {tmp: ",nr_inodes=2", given: has("true"), reason: full},
		"/tmp is read-only":             {tmp: ",ro", given: has("true"), reason: v1alpha1.ReasonTmpNotWritable},

		"the directory is a symbolic link":      {given: has("mkdir -m 755 /mnt/theirs; ln -s /mnt/theirs " + agentDirectory), reason: untrusted},
		"the directory is a dangling link":      {given: has("ln -s /nowhere " + agentDirectory), reason: untrusted},
		"the directory is a link to itself":     {given: has("ln -s " + agentDirectory + " " + agentDirectory), reason: untrusted},
		"the directory is a FIFO":               {given: has("mkfifo " + agentDirectory), reason: untrusted},
		"the directory is a file":               {given: has(": >" + agentDirectory), reason: untrusted},
		"the directory is a device":             {given: has("mknod " + agentDirectory + " c 1 5"), reason: untrusted},
		"the directory belongs to another user": {given: has("mkdir -m 755 " + agentDirectory + "; chown 2000:2000 " + agentDirectory), reason: untrusted},
		"the directory is world-writable":       {given: has("mkdir " + agentDirectory + "; chmod 777 " + agentDirectory), reason: untrusted},

		"the jar is a FIFO":                   {given: has(own + "mkfifo " + jar.Name), leaves: staged},
		"the jar is a device":                 {given: has(own + "mknod " + jar.Name + " c 1 5"), leaves: staged},
		"the jar is a link":                   {given: has(own + "ln -s /dev/zero " + jar.Name), leaves: staged},
		"the jar is a file of 8 TB":           {given: has(own + "truncate -s 8T " + jar.Name), leaves: staged},
		"the jar is a directory":              {given: has(own + "mkdir -p " + jar.Name + "/x"), reason: untrusted, leaves: staged},
		"the jar belongs to another user":     {given: has(own + ": >" + jar.Name + "; chown 2000:2000 " + jar.Name), leaves: staged},
		"the directory has 20000 other files": {given: has(own + "seq -f %g.desired 20000 | xargs touch"), leaves: append([]string{"*.desired"}, staged...)},
		"the limit is 16 descriptors":         {given: func(c *container, call *call) { has("true")(c, call); c.limits = []string{"--nofile=16"} }, leaves: staged},
		"the limit is files of 100 KB":        {by: []v1alpha1.Transport{exec_, door}, given: func(c *container, call *call) { has("true")(c, call); c.limits = []string{"--fsize=100000"} }, reason: full},
	}
	for name, r := range rows {
		r.call = stages()
		rows[name] = r
	}
	test(t, rows)
}

// The container's tools are hostile to the script.
func TestTools(t *testing.T) {
	const none, cut = v1alpha1.ReasonNoShell, v1alpha1.ReasonStagingIncomplete
	tool := func(name, does string) func(*container, *call) {
		return func(c *container, call *call) {
			has("true")(c, call)
			c.path = fakes + ":" + tools
			c.write(fakes+"/"+name, "#!/bin/bash\n"+does+"\n", 0o755)
		}
	}
	rows := map[string]row{
		"cat never exits":                      {given: tool("cat", "exec sleep 1000"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"cat prints endlessly":                 {given: tool("cat", "exec yes x"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"ls never exits":                       {given: tool("ls", "exec sleep 1000"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"ls reports that everything exists":    {given: tool("ls", "echo drwxr-xr-x 1 0 0; echo -rwxr-xr-x 1 0 0"), reason: v1alpha1.ReasonHelperFailed},
		"sha256sum reports a wrong digest":     {given: tool("sha256sum", "echo "+strings.Repeat("0", 64)), reason: cut},
		"head reads nothing":                   {given: tool("head", "exit 0"), reason: cut},
		"head reads everything":                {given: tool("head", "exec cat"), reason: v1alpha1.ReasonContainerNotResponding},
		"uname prints an unknown architecture": {given: tool("uname", "echo pdp11"), leaves: staged},
		"mkdir does nothing":                   {given: tool("mkdir", "exit 0"), reason: v1alpha1.ReasonHelperFailed},
		"mv does nothing":                      {given: tool("mv", "exit 0"), reason: v1alpha1.ReasonNoSpace},
		"rm removes nothing":                   {given: tool("rm", "exit 0"), leaves: staged},
		"sh is no shell":                       {given: tool("sh", "exec cat"), reason: v1alpha1.ReasonContainerNotResponding},
		"there are no tools":                   {given: func(c *container, call *call) { has("true")(c, call); c.path = fakes; c.sh("ln -s /bin/sh " + fakes) }, reason: none},
	}
	for name, r := range rows {
		r.by, r.call = []v1alpha1.Transport{exec_}, stages()
		rows[name] = r
	}
	test(t, rows)
}
