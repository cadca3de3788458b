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

// SchemeTLS is the scheme of an endpoint that speaks TLS: in the pod's annotations, and
// as the application protocol of its EndpointSlice. One in the clear names none.
const SchemeTLS = "https"

// scrapeAnnotations are read together by whoever scrapes: ours beside
// somebody else's would mislead.
var scrapeAnnotations = []string{v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath, v1alpha1.AnnotationScheme}

// Annotations are the annotations of a pod that we may own.
func Annotations() []string { return append([]string{v1alpha1.AnnotationFlag}, scrapeAnnotations...) }

// PodWriter writes the annotations that we own on a pod; pkg/apply is one.
type PodWriter interface {
	PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error
}

// Annotate puts our annotations on the pod, beside nobody else's.
type Annotate struct{}

// Phase implements statemachine.Step.
func (Annotate) Phase() statemachine.Phase { return Annotated }

// OnlyObserves implements statemachine.Observer: the pod itself shows, to whoever
// comes next, which annotations are ours.
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
	// maxRestores is how often annotations that were taken away are put back
	// before there is peace.
	maxRestores = 5
	// restoreWindow is how long one of these times counts.
	restoreWindow = 10 * time.Minute
)

// restored counts one more time that the annotations are put back; nil when they
// were not there before.
func restored(s *Scope) *v1alpha1.Restores {
	before := s.Status().Restores
	if len(missing(s)) == 0 { // it is another port that is to be named
		return before
	}
	// Before all JVMs are exposed, nothing says whether they were there, and each
	// time counts: somebody may be taking the annotations away then, too.
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

// wereThere reports whether our annotations were on the pod before, as its record
// says.
func wereThere(s *Scope) bool {
	c := meta.FindStatusCondition(s.Status().Conditions, string(v1alpha1.PhaseAnnotated))
	return c != nil && (c.Status == metav1.ConditionTrue || slices.Contains([]string{
		v1alpha1.ReasonAnnotationLost, v1alpha1.ReasonAnnotationConflict, v1alpha1.ReasonAnnotationContested,
	}, c.Reason))
}

// Misleads reports whether our annotations name a port at which nothing is known
// to serve: its JVM is gone. They do not where the primary JVM serves another port
// by now, which they are about to name; nor where a record that was lost is not
// filled yet, and the endpoint is published.
func Misleads(s *Scope) bool {
	named := func(port int32) bool { return strconv.Itoa(int(port)) == s.Pod.Annotations[v1alpha1.AnnotationPort] }
	known := func(p *v1alpha1.JavaProcess) bool { return p.Endpoint != nil && (p.Primary || named(p.Endpoint.Port)) }
	lost := !EndpointsKnown(s.Status()) && slices.ContainsFunc(s.Published, func(e PublishedEndpoint) bool {
		return e.Address == s.Pod.Status.PodIP && named(e.Port)
	})
	return OwnsAnnotations(s.Pod) && !lost && len(s.Filter(known)) == 0
}

// Withdraw removes our annotations from the pod, if there are any.
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

// annotations name the primary JVM: a pod can name but one port.
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

// AnnotationRefused reports whether RBAC or an admission policy refuses a change of
// annotations: it will do so again.
func AnnotationRefused(err error) bool {
	return annotationFailed(err).Reason == v1alpha1.ReasonAnnotationRefused
}

// missing are those of our annotations that are not on the pod, or not ours,
// whatever the others say.
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
	case apierrors.IsForbidden(err), strings.Contains(err.Error(), "denied the request"), strings.Contains(err.Error(), "denied request"):
		// A webhook denies "the request", a ValidatingAdmissionPolicy just
		// "request"; the status that it denies with is the policy's choice.
		o = NotDone(v1alpha1.ReasonAnnotationRefused, "RBAC or an admission policy denied the pod's annotations: "+text.Denial(err)+".")
	default:
		o = NotDone(v1alpha1.ReasonAPIError, "Applying the pod's annotations failed; retrying.")
	}
	o.Err = err
	return o
}

// annotatedJVM is the JVM that the annotations name, or will: the primary one,
// unless it waits for the exporter's rollout while another one serves. nil for none.
// One that needs a person stays it as long as it has an endpoint: what people scrape
// follows the endpoint, not the phase.
func annotatedJVM(s *Scope) *v1alpha1.JavaProcess {
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.Primary && p.Endpoint != nil }) {
		return p
	}
	for _, p := range s.Chosen() {
		if p.Endpoint != nil || KindOf(p.Reason) != statemachine.Awaiting {
			return p
		}
	}
	return nil
}

// endpointSecured reports whether the endpoint that the annotations name speaks TLS.
func endpointSecured(s *Scope) bool {
	p := annotatedJVM(s)
	return p != nil && p.Endpoint != nil && p.Endpoint.TLS
}

// CanAnnotate reports whether the JVM is exposed that the annotations name.
func CanAnnotate(s *Scope) bool {
	p := annotatedJVM(s)
	return p != nil && p.Phase == v1alpha1.PhaseExposed
}
