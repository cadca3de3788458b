//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// load brings the agent in one JVM to the desired state: it loads the agent, or
// reconfigures one that is present. Its presence is checked every time, under the JVM's
// lock; the result of an earlier load is never assumed.
func load(ctx context.Context, req helperapi.Request, jars Jars, report *helperapi.Report) error {
	if err := checkDesired(req.Desired); err != nil {
		return err
	}
	p, err := lookup(req)
	if err != nil {
		return err
	}
	process := describe(p)
	defer func() { report.Processes = []helperapi.Process{process} }()
	if refusal := p.Refusal(); refusal != nil && refusal.Kind != jvm.JVMStarting { // Attach waits for it to start
		process.Refusal = typed(refusal)
		return refusal
	}
	if _, err := trampolines(p); err != nil {
		return err
	}
	if process.Exporter, err = refuseBesideStock(ctx, p); err != nil {
		return err
	}
	if err := refuseTmp(req, p); err != nil {
		return err
	}
	dir, err := directoryIn(p, false)
	if errors.Is(err, fs.ErrNotExist) {
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "There is no %s.", helperapi.AgentDirectory)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	unlock, err := dir.lock(ctx, jvmName(p)+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	if err := dir.verify(*req.Desired); err != nil {
		return err
	}
	a := agent{process: p, dir: dir, file: jvmName(p) + desiredSuffix, jar: req.Desired.Agent, sha256: req.Desired.AgentSHA256, jars: jars, silent: req.RefuseOnWarning}
	if err := a.attach(ctx, *req.Desired, req.MemoryHeadroom); err != nil {
		return err
	}
	loaded, err := a.serveOnPort(ctx, *req.Desired)
	process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
	if loaded {
		process.Warning = loadWarning(p)
	}
	if err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil { // otherwise prune could remove this helper's own file
		dir.prune(path.Base(self), req.Desired.Agent)
	}
	return nil
}

func checkDesired(d *helperapi.Desired) error {
	if d == nil {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "Nothing is desired.")
	}
	for _, file := range []struct{ name, prefix, suffix string }{
		{d.Agent, "agent-", ".jar"}, {d.Implementation, "exporter-", ".jar"}, {d.Config, "config-", ".yaml"},
	} {
		if !isNamed(file.name, file.prefix, file.suffix) {
			return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of such a file of %s.", file.name, helperapi.AgentDirectory)
		}
	}
	if !isSHA256(d.ImplementationSHA256) || !isSHA256(d.ConfigSHA256) || d.AgentSHA256 != "" && !isSHA256(d.AgentSHA256) {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "A SHA-256 is missing.")
	}
	if d.Security == "" && d.SecuritySHA256 != "" || d.Security != "" && (!isSecurity(d.Security) || !isSHA256(d.SecuritySHA256)) {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of a security file with a SHA-256.", d.Security)
	}
	if len(d.Identity) > 64 || !isHex(d.Identity) {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "The identity is not lower-case hexadecimal.")
	}
	if d.Port < 0 || d.Port > 65535 {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%d is not a port.", d.Port)
	}
	return nil
}

// isNamed reports whether a name is that of a staged file of one kind, so that a file
// staged as a configuration is never loaded as a jar.
func isNamed(name, prefix, suffix string) bool {
	_, ok := helperapi.FileDigest(name)
	return ok && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// lookup returns the target process of a request.
func lookup(req helperapi.Request) (jvm.Process, error) {
	if req.Target == nil {
		return jvm.Process{}, helperapi.Errorf(helperapi.ReasonBadRequest, "The request names no process.")
	}
	p, err := jvm.Lookup(req.Target.PID, req.Target.StartTime)
	if err == nil && outsideContainer(req, p) {
		return p, helperapi.Errorf(helperapi.ReasonProcessGone, "Process %d is in another container.", p.PID)
	}
	return p, err
}

// verify checks that the files have the desired digests before a JVM reads them.
func (dir *directory) verify(d helperapi.Desired) error {
	agent := d.AgentSHA256
	if agent == "" { // an older operator leaves the digest empty
		agent, _ = helperapi.FileDigest(d.Agent) // the name was checked before
	}
	files := []struct{ name, sum string }{{d.Agent, agent}, {d.Implementation, d.ImplementationSHA256}, {d.Config, d.ConfigSHA256}}
	if d.Security != "" {
		files = append(files, struct{ name, sum string }{d.Security, d.SecuritySHA256})
	}
	for _, file := range files {
		sum, _, err := dir.digest(file.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !strings.HasPrefix(sum, file.sum) {
			return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is missing or not what was staged.", path.Join(helperapi.AgentDirectory, file.name))
		}
	}
	return nil
}

// loadWarns reports whether a load makes the JVM print the warning of JEP 451.
func loadWarns(p jvm.Process) bool {
	return jvm.Major(p.Version) >= 21 && p.Flags.AgentLoading != jvm.On
}

// checkWarning refuses such a load if the request does not accept it.
func (a *agent) checkWarning() error {
	if !a.silent || !loadWarns(a.process) {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonAgentLoadingWarns, "Loading the agent makes Java %d write the four warning lines of JEP 451 to the application's standard error. Start the JVM with -XX:+EnableDynamicAgentLoading, or accept the lines with spec.dynamicAgentLoading: Allow.", jvm.Major(a.process.Version))
}

// loadWarning returns what a load prints on the application's standard error.
func loadWarning(p jvm.Process) string {
	if !loadWarns(p) {
		return ""
	}
	return "The JVM wrote the four warning lines of JEP 451 to the application's standard error; -XX:+EnableDynamicAgentLoading hides them."
}
