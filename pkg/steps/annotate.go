package steps

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// SchemeTLS is the scheme of an endpoint that serves TLS, in the pod's annotations and
// as appProtocol of its EndpointSlice. A plain HTTP endpoint has none.
const SchemeTLS = "https"

// scrapeAnnotations are interpreted together by scrapers: the operator's next to
// somebody else's would mislead them.
var scrapeAnnotations = []string{v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath, v1alpha1.AnnotationScheme}

// Annotations returns the annotations that the operator may own on a pod.
func Annotations() []string { return append([]string{v1alpha1.AnnotationFlag}, scrapeAnnotations...) }

// PodWriter writes the operator's annotations on a pod; implemented by
// pkg/apply/records.
type PodWriter interface {
	PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error
}

// Annotate applies the operator's annotations to the pod, unless others own some of
// them.
type Annotate struct{}

// Phase implements statemachine.Step.
func (Annotate) Phase() statemachine.Phase { return Annotated }

// OnlyObserves implements statemachine.Observer: the pod's managedFields show which
// annotations are the operator's.
func (Annotate) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (Annotate) Ensure(ctx context.Context, s *Scope) statemachine.Outcome {
	if foreign := foreignAnnotations(s.Pod); len(foreign) > 0 {
		if err := Withdraw(ctx, s.Writer, s.Pod); err != nil {
			return annotationFailed(err)
		}
		return NotDone(v1alpha1.ReasonAnnotationConflict, conflictMessage(s.Pod, foreign))
	}
	if annotated(s) {
		return Done()
	}
	restores := restored(s)
	if restores != nil && restores.Count > maxRestores {
		return NotDone(v1alpha1.ReasonAnnotationContested, contestedMessage(s.Pod, missing(s)))
	}
	if err := s.Writer.PodAnnotations(ctx, s.Pod, annotations(s)); err != nil {
		return annotationFailed(err)
	}
	s.Status().Restores = restores
	return Done()
}

// Undo implements statemachine.Step.
func (Annotate) Undo(ctx context.Context, s *Scope) statemachine.Outcome {
	if err := Withdraw(ctx, s.Writer, s.Pod); err != nil {
		return annotationFailed(err)
	}
	return Done()
}

const (
	// maxRestores is how often removed annotations are restored before the operator
	// stops.
	maxRestores = 5
	// restoreWindow is the time after which a restore no longer counts.
	restoreWindow = 10 * time.Minute
)

// restored returns the count of restores including this one; nil if the annotations were
// not there before.
func restored(s *Scope) *v1alpha1.Restores {
	before := s.Status().Restores
	if len(missing(s)) == 0 { // it is another port that is to be named
		return before
	}
	// Before all JVMs are exposed, it is unknown whether the annotations were there, so
	// each restore counts: somebody may already be removing them.
	exposed := func(p *v1alpha1.JavaProcess) bool { return p.Phase == v1alpha1.PhaseExposed }
	if !wereThere(s) && len(slices.DeleteFunc(s.Chosen(), exposed)) == 0 {
		return before
	}
	restores := &v1alpha1.Restores{Count: 1, LastTime: s.Now}
	if before != nil && s.Now.Sub(before.LastTime.Time) < restoreWindow {
		restores.Count += before.Count
	}
	return restores
}

// wereThere reports whether the operator's annotations were on the pod before, according
// to its record.
func wereThere(s *Scope) bool {
	c := meta.FindStatusCondition(s.Status().Conditions, string(v1alpha1.PhaseAnnotated))
	return c != nil && (c.Status == metav1.ConditionTrue || slices.Contains([]string{
		v1alpha1.ReasonAnnotationLost, v1alpha1.ReasonAnnotationConflict, v1alpha1.ReasonAnnotationContested,
	}, c.Reason))
}

// Misleads reports whether the operator's annotations point to a port where no JVM is
// known to serve, because it is gone. They do not mislead if the primary JVM now serves
// another port, which they are about to name, or if a lost record is not yet restored
// and the endpoint is published.
func Misleads(s *Scope) bool {
	named := func(port int32) bool { return strconv.Itoa(int(port)) == s.Pod.Annotations[v1alpha1.AnnotationPort] }
	known := func(p *v1alpha1.JavaProcess) bool { return p.Endpoint != nil && (p.Primary || named(p.Endpoint.Port)) }
	lost := !EndpointsKnown(s.Status()) && slices.ContainsFunc(s.Published, func(e PublishedEndpoint) bool {
		return e.Address == s.Pod.Status.PodIP && named(e.Port)
	})
	return OwnsAnnotations(s.Pod) && !lost && s.find(known) == nil
}

// Withdraw removes the operator's annotations from the pod, if there are any.
func Withdraw(ctx context.Context, writer PodWriter, pod *corev1.Pod) error {
	if !OwnsAnnotations(pod) {
		return nil
	}
	if err := writer.PodAnnotations(ctx, pod, nil); err != nil && !apply.IsGone(err) {
		return err
	}
	removeOwn(pod)
	return nil
}

// annotations returns the annotations for the primary JVM: a pod can name only one port.
func annotations(s *Scope) map[string]string {
	endpoint := annotatedJVM(s).Endpoint
	own := map[string]string{
		v1alpha1.AnnotationScrape: "true",
		v1alpha1.AnnotationPort:   strconv.Itoa(int(endpoint.Port)),
		v1alpha1.AnnotationPath:   MetricsPath,
		v1alpha1.AnnotationFlag:   s.Attachment.Name,
	}
	if endpoint.TLS {
		own[v1alpha1.AnnotationScheme] = SchemeTLS
	}
	return own
}

func annotated(s *Scope) bool {
	if p := annotatedJVM(s); p == nil || p.Endpoint == nil || !OwnsAnnotations(s.Pod) {
		return false
	}
	own := annotations(s)
	return !slices.ContainsFunc(Annotations(), func(name string) bool {
		is, there := s.Pod.Annotations[name]
		want, wanted := own[name]
		return is != want || there != wanted
	})
}

// AnnotationRefused reports whether RBAC or an admission policy denied a change of
// annotations, and will deny it again.
func AnnotationRefused(err error) bool {
	return annotationFailed(err).Reason == v1alpha1.ReasonAnnotationRefused
}

// missing returns the operator's annotations that are not on the pod or not owned by the
// operator.
func missing(s *Scope) []string {
	var missing []string
	for _, name := range Annotations() {
		if name == v1alpha1.AnnotationScheme && !endpointSecured(s) {
			continue
		}
		if !slices.Contains(managersOf(s.Pod, name), string(records.OwnerPodAnnotations)) {
			missing = append(missing, name)
		}
	}
	return missing
}

func annotationFailed(err error) statemachine.Outcome {
	var o statemachine.Outcome
	switch managers := apply.ConflictingManagers(err); {
	case len(managers) > 0:
		o = NotDone(v1alpha1.ReasonAnnotationConflict,
			fmt.Sprintf("The pod's prometheus.io annotations belong to %s; the operator does not add its own.", strings.Join(managers, ", ")))
	case apply.IsGone(err):
		o = NotDone(v1alpha1.ReasonPodGone, "The pod is gone.")
	case apierrors.IsForbidden(err), text.Denied(err):
		o = NotDone(v1alpha1.ReasonAnnotationRefused, "RBAC or an admission policy denied the pod's annotations: "+text.Denial(err)+".")
	default:
		o = NotDone(v1alpha1.ReasonAPIError, "Applying the pod's annotations failed; retrying.")
	}
	o.Err = err
	return o
}

// annotatedJVM returns the JVM that the annotations name, or will name: the primary one,
// unless it waits for the rollout while another one serves; nil for none. A refused JVM
// stays annotated as long as it has an endpoint: scrapes follow the endpoint, not the
// phase.
func annotatedJVM(s *Scope) *v1alpha1.JavaProcess {
	if p := s.find(func(p *v1alpha1.JavaProcess) bool { return p.Primary && p.Endpoint != nil }); p != nil {
		return p
	}
	for _, p := range s.Chosen() {
		if p.Endpoint != nil || KindOf(p.Reason) != statemachine.Awaiting {
			return p
		}
	}
	return nil
}

// endpointSecured reports whether the annotated endpoint serves TLS.
func endpointSecured(s *Scope) bool {
	p := annotatedJVM(s)
	return p != nil && p.Endpoint != nil && p.Endpoint.TLS
}

// CanAnnotate reports whether the JVM that the annotations name is exposed.
func CanAnnotate(s *Scope) bool {
	p := annotatedJVM(s)
	return p != nil && p.Phase == v1alpha1.PhaseExposed
}
