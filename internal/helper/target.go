//go:build linux

package helper

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// container returns the target container of a request.
func container(req helperapi.Request) jvm.Container { return jvm.Container(req.ContainerID) }

// onHost reports whether there is no target container: on a host no process is outside.
func onHost(req helperapi.Request) bool { return req.PodUID == "" && req.ContainerID == "" }

// processesOf returns the Java processes in the target container of a request. A container
// reports only its own processes: visible processes of other containers, or of the whole
// node (hostPID), are reported by those containers.
func processesOf(req helperapi.Request) ([]jvm.Process, error) {
	if onHost(req) {
		return jvm.Find()
	}
	return container(req).Find()
}

// memberOf returns the ID of a process with the memory limit and the network namespace
// that a request concerns: the target, this process, or the first one of the container.
func memberOf(req helperapi.Request) (int, error) {
	switch {
	case req.Target != nil && container(req).OnNode():
		p, err := lookup(req)
		return p.PID, err
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
	if onHost(req) {
		return jvm.Lookup(req.Target.PID, req.Target.StartTime)
	}
	return container(req).Lookup(req.Target.PID, req.Target.StartTime)
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
	dir, err := directory.Open(tmp, create, nil)
	if err != nil {
		return nil, err
	}
	dir.Container = container(req)
	return dir, nil
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

// uidLetters are those of UIDs.
const uidLetters = "0123456789abcdefABCDEF-"

// checkTarget refuses a target that is not one: its parts become parts of paths.
func checkTarget(target helperapi.NodeTarget) error {
	const letters, most = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 128
	if target.PodUID == "" || strings.Trim(target.PodUID, uidLetters) != "" || len(target.PodUID) > most {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not a pod's UID.", helperapi.Bounded(target.PodUID))
	}
	if target.ContainerID == "" || strings.Trim(target.ContainerID, letters) != "" || len(target.ContainerID) > most {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not a container's ID.", helperapi.Bounded(target.ContainerID))
	}
	return nil
}

// bind returns the request for the only container that a child of a node agent serves, and
// refuses one for any other. Everything that takes a container is then about that one.
func bind(req helperapi.Request, target helperapi.NodeTarget) (helperapi.Request, error) {
	if err := checkTarget(target); err != nil {
		return req, err
	}
	if req.PodUID != target.PodUID || req.ContainerID != target.ContainerID {
		return req, helperapi.Errorf(helperapi.ReasonBadRequest, "The request is about another container than the conversation.")
	}
	req.ContainerID = string(jvm.InPod(req.PodUID, req.ContainerID))
	return req, nil
}

// checkPod verifies that this process runs in the pod with the given UID: exec has no
// such precondition, and the pods of a StatefulSet keep their names. The kubelet mounts
// /etc/hosts and the termination log from a directory named after the pod's UID; cgroup
// mounts show it with underscores.
func checkPod(uid string) error {
	if uid == "" {
		return nil
	}
	if strings.Trim(uid, uidLetters) != "" {
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
