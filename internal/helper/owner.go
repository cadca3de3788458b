//go:build linux

package helper

import (
	"path"
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// asOwner calls do as the user of a container of the node who is to own the agent directory
// there, on one thread and without capabilities (see jvm.Container.As): a node agent writes no file as
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
	return container(req).As(owner, group, do)
}

// ownerIn returns the owner of the agent directory that the JVMs of a request see, if they
// trust that user: their own, or the container's root. Where there is no such directory, it is
// the JVMs' user or, of several, the container's root. It is -1 if there is no process.
func ownerIn(req helperapi.Request) (user, group int, err error) {
	var found []jvm.Process
	if req.Target != nil {
		found = make([]jvm.Process, 1)
		found[0], err = lookup(req)
		if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
			return firstOwner(req)
		}
	} else if found, err = processesOf(req); err == nil && len(found) == 0 {
		return firstOwner(req)
	}
	if err != nil {
		return -1, -1, err
	}
	p, root := found[0], found[0].RootUID()
	several := slices.ContainsFunc(found, func(other jvm.Process) bool { return other.UID != p.UID })
	owner, exists := ownerOfDirectory(p, nil)
	// That of one of several users is refused by the JVMs of the others, when they load from it.
	of := slices.IndexFunc(found, func(p jvm.Process) bool { return exists && p.UID == owner.user })
	switch {
	case of >= 0:
		return found[of].UID, found[of].GID, nil
	case root >= 0 && (several || exists && owner.user == root):
		return root, p.RootGID(), nil
	}
	return p.UID, p.GID, nil
}

// firstOwner is the user of a container's first process, where it has no JVM any more, or the
// target has gone. The files of a target that has gone are only removed, which their owner may
// in his directory: the user of any process, or of the target itself, of whom its files there
// are left.
func firstOwner(req helperapi.Request) (user, group int, err error) {
	processes, err := container(req).Processes()
	if err != nil || len(processes) == 0 {
		return -1, -1, err
	}
	p := processes[0]
	owner, exists := ownerOfDirectory(p, req.Target)
	if root := p.RootUID(); exists && root >= 0 && owner.user == root {
		return root, p.RootGID(), nil
	}
	if exists && req.Target != nil {
		if of := slices.IndexFunc(processes, func(p jvm.Process) bool { return p.UID == owner.user }); of >= 0 {
			return processes[of].UID, processes[of].GID, nil
		}
		if owner.ofTarget && owner.user != 0 { // the node's root is nobody in a user namespace
			return owner.user, owner.group, nil
		}
	}
	return p.UID, p.GID, nil
}

// directoryOwner is who owns an agent directory.
type directoryOwner struct {
	user, group int
	// ofTarget is set if a file of the target there has the same owner.
	ofTarget bool
}

// ownerOfDirectory returns who owns the agent directory that a process sees.
func ownerOfDirectory(p jvm.Process, target *helperapi.Target) (owner directoryOwner, exists bool) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return owner, false
	}
	defer tmp.Close()
	name := path.Base(helperapi.AgentDirectory)
	info, err := tmp.Lstat(name)
	if err != nil {
		return owner, false
	}
	stat := info.Sys().(*syscall.Stat_t)
	owner.user, owner.group = int(stat.Uid), int(stat.Gid)
	if target != nil {
		for _, file := range directory.FilesOf(*target) {
			info, err := tmp.Lstat(path.Join(name, file))
			owner.ofTarget = owner.ofTarget || err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == owner.user
		}
	}
	return owner, true
}
