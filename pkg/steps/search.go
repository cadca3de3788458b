package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// FindAgents adds the processes that have an agent of the operator to a record that was
// lost, as far as they can be found. A container that is refused for inspection never
// had one, unless the operator was in the pod and no other container has one: then it was
// reached by a transport that is gone, such as a node agent, and that is a failure. It executes nothing in a container where the record knows of no agent, and the
// operator's flags or the rights of the exporter's writer forbid it: if the operator was in the
// pod, that is a failure, because an agent may stay.
func (t Tools) FindAgents(ctx context.Context, s *Situation) error {
	if pod.RunsWindows(s.Pod) {
		return nil
	}
	var failures, unreached []error
	for _, c := range pod.Running(s.Pod) {
		if forbidden := s.searchForbidden(c); forbidden != nil {
			if s.wasAttached() || forbidden.Err != nil {
				failures = append(failures, fmt.Errorf("container %s is not searched for agents: %s", c.Name, strings.TrimRight(forbidden.Message, ".")))
			}
			continue
		}
		report, err := t.lookForAgents(ctx, s, c)
		if err != nil {
			if !v1alpha1.NeedsPerson(reasonOf(err)) || len(transport.Doors(s.Pod)) > 0 {
				failures = append(failures, err)
			} else {
				unreached = append(unreached, err)
			}
			continue
		}
		s.addAgents(c, report.Processes)
	}
	if s.wasAttached() && s.Find(record.MayHaveAgent) == nil {
		failures = append(failures, unreached...)
	}
	s.unsearched = len(failures) > 0
	return errors.Join(failures...)
}

// addAgents adds the processes of a container that have an agent of the operator.
func (s *Situation) addAgents(c pod.Container, processes []helperapi.Process) {
	for _, p := range processes {
		if !p.AgentJarOpen || p.Mark != nil && p.Mark.State == helperapi.AgentStopped {
			continue
		}
		found := javaProcess(c, p)
		found.AgentFound = true
		if p.Mark != nil {
			found.Port = p.Mark.Port
		}
		if known := s.Known(record.Identity(&found)); known != nil {
			known.AgentFound, known.Port = true, cmp.Or(known.Port, found.Port)
			continue
		}
		s.Status().Processes = append(s.Status().Processes, found)
	}
}

// lookForAgents inspects a container, through an ephemeral container if exec cannot
// reach it and the operator has added one: the container may have been attached to that
// way.
func (t Tools) lookForAgents(ctx context.Context, s *Situation, c pod.Container) (*helperapi.Report, error) {
	look := func() (*helperapi.Report, transport.Container, error) {
		return t.inspect(ctx, s, s.at(c.Name), helperapi.Request{})
	}
	report, at, err := look()
	if s.transport() == v1alpha1.TransportAuto && ExecCannot(reasonOf(err)) && len(transport.Doors(s.Pod)) > 0 {
		s.InspectedOrNew(c).Transport = v1alpha1.TransportEphemeralContainer
		report, at, err = look()
	}
	if err == nil && at.Transport == v1alpha1.TransportEphemeralContainer && s.noteUser(at, s.InspectedOrNew(c), report.Processes) {
		report, _, err = look()
	}
	return report, err
}

// searchForbidden returns why nothing is executed in a container to find agents that the
// record does not know; nil if it may be. The rights of an exporter's writer cannot be
// reviewed when the exporter is gone: then the pod has to show that the operator was in it.
func (s *Situation) searchForbidden(c pod.Container) *statemachine.Outcome {
	if s.mayServe(c) {
		return nil
	}
	if refused := protected(s.Protection.Container(s.Pod, c.Name)); refused != nil {
		return refused
	}
	switch {
	case s.flagged(): // the operator removes what it brought, whoever asked for it
		return nil
	case s.Unauthorized != nil:
		return s.Unauthorized()
	case s.wasAttached():
		return nil
	}
	return new(record.NotDone(v1alpha1.ReasonNotAuthorized, "The exporter is gone, and nothing shows that the operator was in the pod."))
}

// wasAttached reports whether the operator was in the pod, by what nobody else can write: its
// annotation, its EndpointSlices, and its records, of which one without an exporter was made
// because of the same (internal/controller/orphan).
func (s *Situation) wasAttached() bool {
	return s.flagged() || len(s.Published) > 0 || len(s.Begun.Processes) > 0 || len(record.UnseenPorts(s.Begun)) > 0 || s.Attachment.Spec.Exporter.UID == ""
}

// flagged reports whether the annotation of this record is on the pod.
func (s *Situation) flagged() bool {
	name := s.Pod.Annotations[v1alpha1.AnnotationFlag]
	return name != "" && name == s.Attachment.Name
}
