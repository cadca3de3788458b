//go:build linux

package helper

import (
	"path"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// asOwner calls do as the user of a container of the node who is to own the agent directory
// there, on one thread and without capabilities (see jvm.As): a node agent writes no file as
// itself. So a helper of the container finds its own files if the agent is attached by
// another transport, and the files of a container in a user namespace have owners in it. In
// all other cases it only calls do.
func asOwner(req helperapi.Request, do func() error) error {
	if !container(req).OnNode() {
		return do()
	}
	owner, group, err := ownerIn(req)
	if err != nil {
		return err
	}
	if owner < 0 { // the container has exited
		return do()
	}
	return jvm.As(owner, group, do)
}

// ownerIn returns the owner of the agent directory that the JVMs of a request see, if they
// trust that user: their own, or the container's root. Where there is no such directory, it is
// the JVMs' user or, of several, the container's root. It is -1 if there is no process.
func ownerIn(req helperapi.Request) (user, group int, err error) {
	var p jvm.Process // any that decides
	several := false
	if req.Target != nil {
		p, err = lookup(req)
		if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
			return firstOwner(req)
		}
	} else {
		var found []jvm.Process
		if found, err = processesOf(req); err == nil && len(found) == 0 {
			return firstOwner(req)
		}
		if len(found) > 0 {
			p = found[0]
			several = slices.ContainsFunc(found, func(other jvm.Process) bool { return other.UID != p.UID })
		}
	}
	if err != nil {
		return -1, -1, err
	}
	root := p.RootUID()
	switch owner, exists := ownerOfDirectory(p); {
	case exists && owner == p.UID:
		return p.UID, p.GID, nil
	case exists && (owner == root || owner == 0):
		return rootOr(owner, p)
	case several && root >= 0:
		return root, p.RootGID(), nil
	}
	return p.UID, p.GID, nil
}

// rootOr returns the root of the node, or that of the process.
func rootOr(owner int, p jvm.Process) (user, group int, err error) {
	if owner == 0 {
		return 0, 0, nil
	}
	return owner, p.RootGID(), nil
}

// firstOwner is the user of a container's first process, where it has no JVM any more.
func firstOwner(req helperapi.Request) (user, group int, err error) {
	processes, err := container(req).Processes()
	if err != nil || len(processes) == 0 {
		return -1, -1, err
	}
	p := processes[0]
	if owner, exists := ownerOfDirectory(p); exists && owner == p.RootUID() {
		return rootOr(owner, p)
	}
	return p.UID, p.GID, nil
}

// ownerOfDirectory returns who owns the agent directory that a process sees.
func ownerOfDirectory(p jvm.Process) (owner int, exists bool) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return 0, false
	}
	defer tmp.Close()
	info, err := tmp.Lstat(path.Base(helperapi.AgentDirectory))
	if err != nil {
		return 0, false
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), true
}
