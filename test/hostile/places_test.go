//go:build linux

package hostile

import (
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

// stages asks for two files to be staged.
func stages() call {
	return call{
		verb:    helperapi.VerbStage,
		request: helperapi.Request{Files: []helperapi.File{jar.File, config.File}},
		blobs:   []transport.Blob{jar, config},
	}
}

// staged are their names.
var staged = []string{jar.Name, config.Name}

// has is a row's given: a script that runs in the container, in which a process runs
// that maps a libjvm.so.
func has(script string) func(*container, *call) {
	return func(c *container, _ *call) {
		c.sh(script)
		c.startsLibrary("/mnt/jdk/lib/server/libjvm.so")
	}
}

// startsLibrary starts a process that maps a library which any is copied to, and
// returns its PIDs.
func (c *container) startsLibrary(path string) (inside, outside int) {
	c.t.Helper()
	c.sh(`mkdir -p "$(dirname ` + path + `)" && cp "$(/sbin/ldconfig -p | awk '/libm\.so\.6/ {print $NF; exit}')" ` + path)
	return c.starts(c.command("sh", "-c", "echo up; exec env LD_PRELOAD="+path+" sleep 1000"))
}

// What is in the place of the operator's files, and where there is no room for them.
func TestPlaces(t *testing.T) {
	const untrusted, full = v1alpha1.ReasonAgentDirectoryNotTrusted, v1alpha1.ReasonNoSpace
	own := "mkdir -m 755 " + agentDirectory + "; cd " + agentDirectory + "; "
	rows := map[string]row{
		"no room":             {tmp: ",size=64k", given: has("true"), reason: full},
		"no room for the jar": {tmp: ",size=64k", given: has(own), reason: full},
		"no inodes":           {tmp: ",nr_inodes=2", given: has("true"), reason: full},
		"no new files":        {tmp: ",ro", given: has("true"), reason: v1alpha1.ReasonTmpNotWritable},

		"a link in the place of the directory":   {given: has("mkdir -m 755 /mnt/theirs; ln -s /mnt/theirs " + agentDirectory), reason: untrusted},
		"a dangling link":                        {given: has("ln -s /nowhere " + agentDirectory), reason: untrusted},
		"a link to itself":                       {given: has("ln -s " + agentDirectory + " " + agentDirectory), reason: untrusted},
		"a FIFO in the place of the directory":   {given: has("mkfifo " + agentDirectory), reason: untrusted},
		"a file in the place of the directory":   {given: has(": >" + agentDirectory), reason: untrusted},
		"a device in the place of the directory": {given: has("mknod " + agentDirectory + " c 1 5"), reason: untrusted},
		"a directory of another user":            {given: has("mkdir -m 755 " + agentDirectory + "; chown 2000:2000 " + agentDirectory), reason: untrusted},
		"a directory that all may write to":      {given: has("mkdir " + agentDirectory + "; chmod 777 " + agentDirectory), reason: untrusted},

		"a FIFO in the place of the jar":         {given: has(own + "mkfifo " + jar.Name), leaves: staged},
		"a device in the place of the jar":       {given: has(own + "mknod " + jar.Name + " c 1 5"), leaves: staged},
		"a link in the place of the jar":         {given: has(own + "ln -s /dev/zero " + jar.Name), leaves: staged},
		"a file of 8 TB in the place of the jar": {given: has(own + "truncate -s 8T " + jar.Name), leaves: staged},
		"a directory in the place of the jar":    {given: has(own + "mkdir -p " + jar.Name + "/x"), reason: untrusted, leaves: staged},
		"another user's file for the jar":        {given: has(own + ": >" + jar.Name + "; chown 2000:2000 " + jar.Name), leaves: staged},
		"20000 files beside it":                  {given: has(own + "seq -f %g.desired 20000 | xargs touch"), leaves: append([]string{"*.desired"}, staged...)},
		"16 descriptors":                         {given: func(c *container, call *call) { has("true")(c, call); c.limits = []string{"--nofile=16"} }, leaves: staged},
		"files of 100 KB at most":                {given: func(c *container, call *call) { has("true")(c, call); c.limits = []string{"--fsize=100000"} }, reason: full},
	}
	for name, r := range rows {
		r.call = stages()
		rows[name] = r
	}
	test(t, rows)
}

// The tools of the container, in the script.
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
		"cat never ends":         {given: tool("cat", "exec sleep 1000"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"cat floods":             {given: tool("cat", "exec yes x"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"ls never ends":          {given: tool("ls", "exec sleep 1000"), reason: v1alpha1.ReasonContainerNotResponding, hangs: true},
		"ls says that all is ok": {given: tool("ls", "echo drwxr-xr-x 1 0 0; echo -rwxr-xr-x 1 0 0"), reason: v1alpha1.ReasonHelperFailed},
		"sha256sum lies":         {given: tool("sha256sum", "echo "+strings.Repeat("0", 64)), reason: cut},
		"head takes nothing":     {given: tool("head", "exit 0"), reason: cut},
		"head takes all":         {given: tool("head", "exec cat"), reason: v1alpha1.ReasonContainerNotResponding},
		"uname says nonsense":    {given: tool("uname", "echo pdp11"), leaves: staged},
		"mkdir does nothing":     {given: tool("mkdir", "exit 0"), reason: v1alpha1.ReasonHelperFailed},
		"mv does nothing":        {given: tool("mv", "exit 0"), reason: v1alpha1.ReasonNoSpace},
		"rm removes nothing":     {given: tool("rm", "exit 0"), leaves: staged},
		"sh is no shell":         {given: tool("sh", "exec cat"), reason: v1alpha1.ReasonContainerNotResponding},
		"no tools":               {given: func(c *container, call *call) { has("true")(c, call); c.path = fakes; c.sh("ln -s /bin/sh " + fakes) }, reason: none},
	}
	for name, r := range rows {
		r.by, r.call = []v1alpha1.Transport{exec_}, stages()
		rows[name] = r
	}
	test(t, rows)
}
