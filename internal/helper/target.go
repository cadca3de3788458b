//go:build linux

package helper

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// container returns the target container of a request.
func container(req helperapi.Request) jvm.Container { return jvm.Container(req.ContainerID) }

// outsideContainer reports whether a process is outside the target container of a
// request. On a host there is no target container, and no process is outside.
func outsideContainer(req helperapi.Request, p jvm.Process) bool {
	return (req.PodUID != "" || req.ContainerID != "") && !container(req).Has(p)
}

// processesOf returns the Java processes in the target container of a request. A container
// reports only its own processes: visible processes of other containers, or of the whole
// node (hostPID), are reported by those containers.
func processesOf(req helperapi.Request) ([]jvm.Process, error) {
	found, err := jvm.Find()
	return slices.DeleteFunc(found, func(p jvm.Process) bool { return outsideContainer(req, p) }), err
}

// memberOf returns the ID of a process with the memory limit and the network namespace
// that a request concerns: the target, this process, or the first one of the container.
func memberOf(req helperapi.Request) (int, error) {
	switch {
	case req.Target != nil:
		return req.Target.PID, nil
	case req.ContainerID == "":
		return os.Getpid(), nil
	}
	processes, err := container(req).Processes()
	if err != nil {
		return 0, err
	}
	if len(processes) == 0 {
		return 0, helperapi.Errorf(helperapi.ReasonProcessGone, "No process of the container runs any more.")
	}
	return processes[0].PID, nil
}

// openTmp opens the /tmp of the target container of a request.
func openTmp(req helperapi.Request) (*os.Root, error) {
	if req.ContainerID != "" {
		return container(req).OpenTmp()
	}
	tmp, err := os.OpenRoot("/tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, helperapi.Errorf(helperapi.ReasonTmpNotWritable, "There is no /tmp. %s", jvm.MountTmp)
	}
	return tmp, err
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

// directoryOf opens the agent directory that the target sees or, without a target, the
// container's.
func directoryOf(req helperapi.Request, create bool) (*directory.Directory, error) {
	if req.Target != nil {
		p, err := lookup(req)
		if err != nil {
			return nil, err
		}
		return directoryIn(p, create)
	}
	tmp, err := openTmp(req)
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return directory.Open(tmp, create, nil)
}

// directoryIn opens the agent directory that a JVM sees.
func directoryIn(p jvm.Process, create bool) (*directory.Directory, error) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return directory.Open(tmp, create, &p)
}

// checkPod verifies that this process runs in the pod with the given UID: exec has no
// such precondition, and the pods of a StatefulSet keep their names. The kubelet mounts
// /etc/hosts and the termination log from a directory named after the pod's UID; cgroup
// mounts show it with underscores.
func checkPod(uid string) error {
	if uid == "" {
		return nil
	}
	if strings.Trim(uid, "0123456789abcdefABCDEF-") != "" {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not a pod's UID.", uid)
	}
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if !inPod(string(mountinfo), uid) {
		return helperapi.Errorf(helperapi.ReasonWrongPod, "This is not the pod with UID %s: it was replaced, or nothing of its kubelet's is mounted.", uid)
	}
	return nil
}

func inPod(mountinfo, uid string) bool {
	return strings.Contains(mountinfo, "/pods/"+uid+"/") ||
		strings.Contains(mountinfo, "-pod"+strings.ReplaceAll(uid, "-", "_")+".slice")
}
