//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
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
	dir, turn, err := lockStaged(ctx, req, p)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer turn.Close()
	if err := dir.Verify(*req.Desired); err != nil {
		return err
	}
	a := agentIn{process: p, dir: dir, file: directory.DesiredFile(p), jar: req.Desired.Agent, sha256: req.Desired.AgentSHA256, jars: jars, silent: req.RefuseOnWarning}
	if err := a.attach(ctx, req); err != nil {
		return err
	}
	loaded, err := a.serveOnPort(ctx, *req.Desired)
	process.Mark, process.AgentJarOpen = a.mark, a.jarOpen
	if loaded && loadWarns(p) {
		process.Warning = loadWarning
	}
	if err != nil {
		return err
	}
	turn.Confirm()
	if self, err := os.Executable(); err == nil { // otherwise prune could remove this helper's own file
		dir.Prune(path.Base(self), req.Desired.Agent)
	}
	return nil
}

// lockStaged opens the agent directory that a JVM sees, to which files were staged, and
// acquires the JVM's lock. The caller closes both.
func lockStaged(ctx context.Context, req helperapi.Request, p jvm.Process) (dir *directory.Directory, turn *directory.Turn, err error) {
	if err := refuseTmp(req, p); err != nil {
		return nil, nil, err
	}
	dir, err = directoryIn(p, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, helperapi.Errorf(helperapi.ReasonStagingIncomplete, "There is no %s.", helperapi.AgentDirectory)
	}
	if err != nil {
		return nil, nil, err
	}
	if turn, err = dir.Lock(ctx, p); err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, turn, nil
}

func checkDesired(d *helperapi.Desired) error {
	if d == nil {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "Nothing is desired.")
	}
	for _, file := range []struct{ name, prefix, suffix string }{
		{d.Agent, "agent-", ".jar"}, {d.Implementation, "exporter-", ".jar"}, {d.Config, "config-", ".yaml"},
	} {
		if !helperapi.IsNamed(file.name, file.prefix, file.suffix) {
			return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of such a file of %s.", file.name, helperapi.AgentDirectory)
		}
	}
	switch {
	case !helperapi.IsSHA256(d.ImplementationSHA256) || !helperapi.IsSHA256(d.ConfigSHA256) || d.AgentSHA256 != "" && !helperapi.IsSHA256(d.AgentSHA256):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "A SHA-256 is missing.")
	case d.Security == "" && d.SecuritySHA256 != "" || d.Security != "" && (!directory.IsSecurity(d.Security) || !helperapi.IsSHA256(d.SecuritySHA256)):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of a security file with a SHA-256.", d.Security)
	case len(d.Identity) > 64 || !helperapi.IsHex(d.Identity):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "The identity is not lower-case hexadecimal.")
	case d.Port < 0 || d.Port > 65535:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%d is not a port.", d.Port)
	}
	return nil
}
