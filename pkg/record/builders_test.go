package record

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const anAddress = "10.0.0.1"

// of returns a record of processes.
func of(processes ...v1alpha1.JavaProcess) Record {
	r := Record{&v1alpha1.JmxAttachment{}}
	r.Attachment.Spec.Exporter.Name = "shop"
	r.Status().Processes = processes
	return r
}

// aProcess returns a Java process of a container that can be attached to, with its
// port.
func aProcess(container string, port int32) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{
		Container: container, ContainerID: "containerd://" + container, PID: 7, StartTime: 11, Port: port, Phase: v1alpha1.PhaseJavaFound,
	}
}

// serving returns a process that serves a port.
func serving(container string, port int32) v1alpha1.JavaProcess {
	p := aProcess(container, port)
	p.Phase, p.Primary, p.Intent = v1alpha1.PhaseExposed, port == 9400, &v1alpha1.LoadIntent{}
	p.Endpoint = &v1alpha1.Endpoint{Address: anAddress, Port: port, CheckedFrom: v1alpha1.CheckedFromOperator}
	return p
}

// failing returns a process in a phase whose next phase does not hold.
func failing(container string, phase v1alpha1.Phase, reason string) v1alpha1.JavaProcess {
	p := aProcess(container, 0)
	p.Phase, p.Reason, p.Message = phase, reason, "No."
	return p
}

// with returns a changed process.
func with(p v1alpha1.JavaProcess, change func(*v1alpha1.JavaProcess)) v1alpha1.JavaProcess {
	change(&p)
	return p
}

func excluded(p *v1alpha1.JavaProcess) { p.Excluded, p.Primary = true, false }
