//go:build linux

package helper

import (
	"slices"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const mib = 1 << 20

// checkMemory refuses an operation that needs more memory, in bytes, than the control
// groups of a process and the pod leave: at the limit the kernel kills a process, most
// likely the JVM. Without a visible limit, nothing is refused.
func checkMemory(req helperapi.Request, pid int, need int64, what string) error {
	if req.MemoryHeadroom <= 0 {
		return nil
	}
	if refusal := req.PodMemory.Refusal(); refusal != nil && need >= req.MemoryHeadroom { // a first load
		return refusal
	}
	var group cgroup.Memory
	var limited bool
	if err := container(req).AsUserOf(pid, func() error { group, limited = cgroup.FreeMemory(pid); return nil }); err != nil {
		group, limited = cgroup.FreeMemory(pid)
	}
	if refusal := checkPodGroup(req, need, what); refusal != nil {
		return refusal
	}
	memory := req.PodMemory.Available(helperapi.Memory(group))
	if !limited || memory.Free >= need {
		return nil
	}
	if memory.Free != group.Free {
		return helperapi.Errorf(helperapi.ReasonInsufficientMemory, "%s needs %d MiB free below the memory limit of the pod (spec.resources) of %d MiB, of which the limits of its other containers take %d MiB; less than %d MiB are left. Raise the pod's limit, lower those of the other containers, or lower spec.memoryHeadroom.",
			what, inMiB(need, 1), memory.Limit/mib, req.PodMemory.Others/mib, min(inMiB(memory.Free+1, freeStep), inMiB(need, 1)))
	}
	return helperapi.Errorf(helperapi.ReasonInsufficientMemory, "%s needs %d MiB free below the memory limit of %d MiB; less than %d MiB are free. Raise the limit, lower the application's use (-Xmx), or lower spec.memoryHeadroom.",
		what, inMiB(need, 1), memory.Limit/mib, min(inMiB(memory.Free+1, freeStep), inMiB(need, 1)))
}

// freePodMemory is cgroup.FreePodMemory. A variable for a test.
var freePodMemory = cgroup.FreePodMemory

// checkPodGroup refuses an operation that needs more memory than the pod's own control group
// leaves, which only a node agent sees. If it does not, the request has to say what the pod's
// limit is, as in a container: a limit that is not known may be any.
func checkPodGroup(req helperapi.Request, need int64, what string) error {
	if !container(req).OnNode() {
		return nil
	}
	var memory cgroup.Memory
	var limited bool
	err := jvm.Outside(func() (err error) {
		memory, limited, err = freePodMemory(req.PodUID)
		return err
	})
	switch {
	case err != nil && (req.PodMemory == nil || req.PodMemory.Limit <= 0):
		return helperapi.Errorf(helperapi.ReasonInsufficientMemory, "%s needs %d MiB, and whether the memory limit of the pod leaves them cannot be determined: %v. The node agent reads it in the root directory of the node's process 1, for which it takes hostPID, the capability SYS_PTRACE, and no AppArmor profile or security module that hides it. Allow that, give the pod a memory limit in spec.resources, or set spec.memoryHeadroom to 0.",
			what, inMiB(need, 1), err)
	case !limited || memory.Free >= need: // or the request says what the limit is
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonInsufficientMemory, "%s needs %d MiB free below the memory limit of the pod of %d MiB; less than %d MiB are free, of all its containers. Raise the limits of the pod or its containers, lower their use, or lower spec.memoryHeadroom.",
		what, inMiB(need, 1), memory.Limit/mib, min(inMiB(memory.Free+1, freeStep), inMiB(need, 1)))
}

// freeStep is the multiple of MiB to which messages round free memory: it changes
// constantly, and each new message is a write to a status.
const freeStep = 8

// inMiB rounds bytes up to a multiple of step MiB.
func inMiB(bytes, step int64) int64 { return (bytes + step*mib - 1) / (step * mib) * step }

// checkStagedMemory refuses to stage files if there is less memory than twice their size,
// whether /tmp is in memory or on a disk, where dirty pages count until they are written
// back. If no JVM has an agent yet, the files are for a first load, and its headroom is
// required too.
func checkStagedMemory(req helperapi.Request, files []helperapi.File) error {
	if req.MemoryHeadroom <= 0 || len(files) == 0 {
		return nil
	}
	need, what := req.MemoryHeadroom, "The first load of the agent, with its files,"
	pid, err := memberOf(req)
	if err != nil {
		return err
	}
	present, err := agentPresent(req)
	if err != nil {
		return err
	}
	if present {
		need, what = 0, "Staging the agent's files"
	}
	for _, file := range files {
		need += 2 * file.Size
	}
	return checkMemory(req, pid, need, what)
}

// memoryOf returns the memory that the control groups of a process leave it; nil without
// a limit.
func memoryOf(p jvm.Process) *helperapi.Memory {
	memory, limited := cgroup.FreeMemory(p.PID)
	if !limited {
		return nil
	}
	return &helperapi.Memory{Limit: memory.Limit, Free: memory.Free}
}

// agentPresent reports whether our agent is in the target or, without a target, in any
// JVM of the container.
func agentPresent(req helperapi.Request) (bool, error) {
	if req.Target != nil {
		p, err := lookup(req)
		if err != nil {
			return false, err
		}
		return agentLoaded(p)
	}
	found, err := processesOf(req)
	return slices.ContainsFunc(found, func(p jvm.Process) bool {
		loaded, err := agentLoaded(p)
		return loaded && err == nil
	}), err
}

// checkSpace refuses files for which the agent directory's file system has too few free
// blocks or inodes. A quota or the kubelet may allow less.
func checkSpace(dir *directory.Directory, files []helperapi.File) error {
	opened, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer opened.Close()
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(opened.Fd()), &fs); err != nil {
		return err
	}
	if fs.Blocks > 0 && fs.Bsize > 0 { // otherwise it is unlimited, such as a tmpfs with size=0
		var blocks uint64
		for _, file := range files {
			blocks += (uint64(file.Size) + uint64(fs.Bsize) - 1) / uint64(fs.Bsize)
		}
		if blocks > fs.Bavail {
			return helperapi.Errorf(helperapi.ReasonNoSpace, "%d MiB are needed in %s, and its file system has less free: make room there.",
				inMiB(int64(blocks)*fs.Bsize, 1), helperapi.AgentDirectory)
		}
	}
	if fs.Files > 0 && uint64(len(files)) > fs.Ffree {
		return helperapi.Errorf(helperapi.ReasonNoSpace, "%d files are needed in %s, and its file system has fewer inodes free: remove files there.", len(files), helperapi.AgentDirectory)
	}
	return nil
}
