//go:build linux

package helper

import (
	"errors"
	"io/fs"
	"os"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// container is the one whose processes and files a request is about.
func container(req helperapi.Request) jvm.Container { return jvm.Container(req.ContainerID) }

// elsewhere reports whether a process is in another container than a request is
// about. On a host there is none, and all processes are meant.
func elsewhere(req helperapi.Request, p jvm.Process) bool {
	return (req.PodUID != "" || req.ContainerID != "") && !container(req).Has(p)
}

// memberOf is the ID of a process that has the memory and the network that a request
// is about: the target, this one, or the container's first.
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

// openTmp opens the /tmp of the container that a request is about.
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
