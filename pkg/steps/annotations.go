package steps

import (
	"slices"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// SchemeTLS is the scheme of an endpoint that serves TLS, in the pod's annotations and
// as appProtocol of its EndpointSlice. A plain HTTP endpoint has none.
const SchemeTLS = "https"

// annotations returns the annotations for the primary JVM: a pod can name only one port.
func annotations(s *Situation) map[string]string {
	endpoint := annotatedJVM(s).Endpoint
	own := map[string]string{
		v1alpha1.AnnotationScrape: "true",
		v1alpha1.AnnotationPort:   strconv.Itoa(int(endpoint.Port)),
		v1alpha1.AnnotationPath:   probe.MetricsPath,
		v1alpha1.AnnotationFlag:   s.Attachment.Name,
	}
	if endpoint.TLS {
		own[v1alpha1.AnnotationScheme] = SchemeTLS
	}
	return own
}

// flag returns the annotation by which the operator finds an attached pod without its record
// (internal/controller/orphan).
func flag(s *Situation) map[string]string {
	return map[string]string{v1alpha1.AnnotationFlag: s.Attachment.Name}
}

// agentFlag returns the annotation of flag if an agent may be in the pod; nil otherwise.
func agentFlag(s *Situation) map[string]string {
	if len(s.Agents()) == 0 && len(record.UnseenPorts(s.Status())) == 0 {
		return nil
	}
	return flag(s)
}

func annotated(s *Situation) bool {
	if p := annotatedJVM(s); p == nil || p.Endpoint == nil || !pod.OwnsAnnotations(s.Pod) {
		return false
	}
	own := annotations(s)
	return !slices.ContainsFunc(pod.Annotations(), func(name string) bool {
		is, there := s.Pod.Annotations[name]
		want, wanted := own[name]
		return is != want || there != wanted
	})
}

// missing returns the operator's annotations that are not on the pod or not owned by the
// operator.
func missing(s *Situation) []string {
	var missing []string
	for _, name := range pod.Annotations() {
		if name == v1alpha1.AnnotationScheme && !endpointSecured(s) {
			continue
		}
		if !slices.Contains(pod.AnnotationManagers(s.Pod, name), string(records.OwnerPodAnnotations)) {
			missing = append(missing, name)
		}
	}
	return missing
}

// annotatedJVM returns the JVM that the annotations name, or will name: the primary one,
// unless it waits for the rollout while another one serves; nil for none. A refused JVM
// stays annotated as long as it has an endpoint: scrapes follow the endpoint, not the
// phase.
func annotatedJVM(s *Situation) *v1alpha1.JavaProcess {
	if p := s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Primary && p.Endpoint != nil }); p != nil {
		return p
	}
	for _, p := range s.Chosen() {
		if p.Endpoint != nil || record.KindOf(p.Reason) != statemachine.Awaiting {
			return p
		}
	}
	return nil
}

// endpointSecured reports whether the annotated endpoint serves TLS.
func endpointSecured(s *Situation) bool {
	p := annotatedJVM(s)
	return p != nil && p.Endpoint != nil && p.Endpoint.TLS
}

// canAnnotate reports whether the JVM that the annotations name is exposed.
func canAnnotate(s *Situation) bool {
	p := annotatedJVM(s)
	return p != nil && p.Phase == v1alpha1.PhaseExposed
}

// misleads reports whether the operator's annotations point to a port where no JVM is
// known to serve, because it is gone. They do not mislead if the primary JVM now serves
// another port, which they are about to name, or if a lost record is not yet restored,
// or cannot be, and the endpoint is published.
func misleads(s *Situation) bool {
	named := func(port int32) bool { return strconv.Itoa(int(port)) == s.Pod.Annotations[v1alpha1.AnnotationPort] }
	serves := func(p *v1alpha1.JavaProcess) bool { return p.Endpoint != nil && (p.Primary || named(p.Endpoint.Port)) }
	known, unseen := record.EndpointsKnown(s.Status()), record.UnseenPorts(s.Status())
	lost := slices.ContainsFunc(s.Published, func(e PublishedEndpoint) bool {
		return e.Address == s.Pod.Status.PodIP && named(e.Port) && (!known || slices.Contains(unseen, e.Port))
	})
	return pod.OwnsAnnotations(s.Pod) && !lost && s.Find(serves) == nil
}
