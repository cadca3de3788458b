package steps

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Sight is what a look at one process came to.
type Sight string

// What a look can come to.
const (
	// SightUnclear: nothing can be said; it may be another time.
	SightUnclear Sight = "Unclear"
	// SightServes: the process is there, and its endpoint answers in the pod.
	SightServes Sight = "Serves"
	// SightSilent: process and agent are there, and the endpoint does not answer
	// in the pod either.
	SightSilent Sight = "Silent"
	// SightStopped: the process is there, and no agent of ours serves in it.
	SightStopped Sight = "Stopped"
	// SightGone: the process is gone.
	SightGone Sight = "Gone"
)

// Look sees what became of a process whose endpoint does not answer.
func Look(ctx context.Context, helper Helper, pod *corev1.Pod, p *v1alpha1.JavaProcess) Sight {
	in := Target(pod, p.Container)
	report, err := helper.Run(ctx, in, attach.VerbStatus, attach.Request{Target: target(p)})
	var known *transport.Error
	switch {
	case errors.As(err, &known) && known.Reason == v1alpha1.ReasonProcessGone:
		return SightGone
	case errors.As(err, &known) && known.Reason == v1alpha1.ReasonEndpointNotServing:
		return SightSilent
	case err != nil || len(report.Processes) != 1:
		return SightUnclear
	}
	if !p.Adopted {
		switch mark := report.Processes[0].Mark; {
		case mark == nil && !report.Processes[0].AgentJarOpen, mark != nil && mark.State != attach.AgentRunning:
			return SightStopped
		case mark == nil:
			return SightUnclear
		}
		return SightServes
	}
	request := attach.Request{Probe: &attach.Endpoint{Port: p.Port, Path: MetricsPath}}
	_, err = helper.Run(ctx, in, attach.VerbProbe, request)
	switch {
	case errors.As(err, &known) && known.Reason == v1alpha1.ReasonEndpointNotServing:
		return SightSilent
	case err != nil:
		return SightUnclear
	}
	return SightServes
}

// Changed tells whether other Java processes run in the pod than its record
// says. It is asked when something happened by which they may have changed. What
// cannot be looked into has not; the error is that there was no place for the exec.
func Changed(ctx context.Context, helper Helper, s *Scope) (bool, error) {
	for _, c := range s.containers() {
		report, err := helper.Run(ctx, Target(s.Pod, c.name), attach.VerbInspect, attach.Request{Rules: processRules(s.Exporter)})
		var failure *transport.Error
		if errors.As(err, &failure) && failure.Reason == v1alpha1.ReasonQueued {
			return false, err
		}
		if err != nil {
			continue
		}
		var seen []ProcessIdentity
		for _, p := range report.Processes {
			seen = append(seen, ProcessIdentity{c.id, int32(p.PID), int64(p.StartTime)})
		}
		var known []ProcessIdentity
		for _, p := range s.Status().Processes {
			if p.ContainerID == c.id {
				known = append(known, Identity(&p))
			}
		}
		for _, id := range seen {
			if !slices.Contains(known, id) {
				return true, nil
			}
		}
		if len(known) > len(seen) {
			return true, nil
		}
	}
	return false, nil
}

// Agents are the processes in a pod's running containers that an agent of ours is
// in, as far as it can be seen. A container that cannot be looked into for good
// never had one.
func Agents(ctx context.Context, helper Helper, pod *corev1.Pod) ([]*v1alpha1.JavaProcess, error) {
	var agents []*v1alpha1.JavaProcess
	var failed []error
	for _, c := range running(pod) {
		report, err := helper.Run(ctx, Target(pod, c.name), attach.VerbInspect, attach.Request{})
		var known *transport.Error
		if errors.As(err, &known) && v1alpha1.NeedsPerson(known.Reason) {
			continue
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, p := range report.Processes {
			if p.AgentJarOpen && (p.Mark == nil || p.Mark.State != attach.AgentStopped) {
				found := javaProcess(c, p)
				if p.Mark != nil {
					found.Port = p.Mark.Port
				}
				agents = append(agents, &found)
			}
		}
	}
	return agents, errors.Join(failed...)
}
