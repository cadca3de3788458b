//go:build linux

package helper

import (
	"errors"
	"io/fs"
	"os"

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
