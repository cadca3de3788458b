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

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// The annotations that we own on a pod. Prometheus' usual scrape configurations
// read prometheus.io/*; the flag names the JmxAttachment for people.
const (
	AnnotationScrape = "prometheus.io/scrape"
	AnnotationPort   = "prometheus.io/port"
	AnnotationPath   = "prometheus.io/path"
	AnnotationScheme = "prometheus.io/scheme"
	AnnotationFlag   = "banzaicloud.com/jmx-attachment"
)

// What people write: the only annotations that are read.
const (
	// AnnotationOptOut on a pod, "true", keeps every exporter away from it.
	AnnotationOptOut = "banzaicloud.com/jmx-exporter-opt-out"
	// AnnotationResume on an exporter takes a rollout up again that was stopped,
	// each time it gets another value.
	AnnotationResume = "banzaicloud.com/resume-rollout"
)

// scrapeAnnotations are read together by whoever scrapes: ours beside
// somebody else's would mislead.
var scrapeAnnotations = []string{AnnotationScrape, AnnotationPort, AnnotationPath, AnnotationScheme}

// Annotations are the annotations of a pod that we may own.
func Annotations() []string { return append([]string{AnnotationFlag}, scrapeAnnotations...) }

// PodWriter writes the annotations that we own on a pod; pkg/apply is one.
type PodWriter interface {
	PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error
}

// Annotate puts our annotations on the pod, beside nobody else's.
type Annotate struct{ Writer PodWriter }

// Phase implements Step.
func (Annotate) Phase() statemachine.Phase { return statemachine.Annotated }

// Lost implements Step.
func (Annotate) Lost(s *Scope) statemachine.Event {
	if len(foreignAnnotations(s.Pod)) == 0 && annotated(s) {
		return ""
	}
	return statemachine.AnnotationLost
}

// Ensure implements Step.
func (a Annotate) Ensure(ctx context.Context, s *Scope) Outcome {
	if foreign := foreignAnnotations(s.Pod); len(foreign) > 0 {
		if err := Withdraw(ctx, a.Writer, s.Pod); err != nil {
			return annotationFailed(err)
		}
		return NotReached(v1alpha1.ReasonAnnotationConflict, conflictMessage(s.Pod, foreign))
	}
	if annotated(s) {
		return Reached("The pod carries prometheus.io/scrape, port and path.")
	}
	restores := restored(s)
	if restores != nil && restores.Count > maxRestores {
		return NotReached(v1alpha1.ReasonAnnotationContested, contestedMessage(s.Pod, missing(s)))
	}
	if err := a.Writer.PodAnnotations(ctx, s.Pod, annotations(s)); err != nil {
		return annotationFailed(err)
	}
	s.Status().Restores = restores
	return Reached("The pod carries prometheus.io/scrape, port and path.")
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
	switch s.Status().Reason {
	case v1alpha1.ReasonAnnotationLost, v1alpha1.ReasonAnnotationConflict, v1alpha1.ReasonAnnotationContested:
	default:
		return before
	}
	restores := &v1alpha1.Restores{Count: 1, LastTime: s.Now}
	if before != nil && s.Now.Sub(before.LastTime.Time) < restoreWindow {
		restores.Count += before.Count
	}
	return restores
}

// Misleads tells whether our annotations name a port at which nothing is known
// to serve: its JVM is gone.
func Misleads(s *Scope) bool {
	return ownsAnnotations(s.Pod) && len(s.those(func(p *v1alpha1.JavaProcess) bool {
		return p.Endpoint != nil && strconv.Itoa(int(p.Endpoint.Port)) == s.Pod.Annotations[AnnotationPort]
	})) == 0
}

// Withdraw takes our annotations off the pod, if there are any.
func Withdraw(ctx context.Context, writer PodWriter, pod *corev1.Pod) error {
	if !ownsAnnotations(pod) {
		return nil
	}
	if err := writer.PodAnnotations(ctx, pod, nil); err != nil && !apply.IsGone(err) {
		return err
	}
	disown(pod)
	return nil
}

// annotations name the first JVM: a pod can name but one port.
func annotations(s *Scope) map[string]string {
	return map[string]string{
		AnnotationScrape: "true",
		AnnotationPort:   strconv.Itoa(int(s.Chosen()[0].Endpoint.Port)),
		AnnotationPath:   MetricsPath,
		AnnotationFlag:   s.Attachment.Name,
	}
}

func annotated(s *Scope) bool {
	if chosen := s.Chosen(); len(chosen) == 0 || chosen[0].Endpoint == nil || !ownsAnnotations(s.Pod) {
		return false
	}
	for name, value := range annotations(s) {
		if s.Pod.Annotations[name] != value {
			return false
		}
	}
	return true
}

// Refused tells that RBAC or an admission policy refuses to have annotations
// changed: it will do so again.
func Refused(err error) bool {
	return annotationFailed(err).Reason == v1alpha1.ReasonAnnotationRefused
}

// missing are those of our annotations that are not on the pod, or not ours,
// whatever the others say.
func missing(s *Scope) []string {
	var missing []string
	for _, name := range []string{AnnotationScrape, AnnotationPort, AnnotationPath, AnnotationFlag} {
		if !slices.Contains(managersOf(s.Pod, name), string(apply.OwnerPodAnnotations)) {
			missing = append(missing, name)
		}
	}
	return missing
}

func annotationFailed(err error) Outcome {
	var o Outcome
	switch managers := apply.ConflictingManagers(err); {
	case len(managers) > 0:
		o = NotReached(v1alpha1.ReasonAnnotationConflict,
			fmt.Sprintf("prometheus.io annotations of the pod belong to %s; none of ours is written beside them.", strings.Join(managers, ", ")))
	case apply.IsGone(err):
		o = NotReached(v1alpha1.ReasonPodGone, "The pod is gone.")
	case apierrors.IsForbidden(err), strings.Contains(err.Error(), "denied the request"), strings.Contains(err.Error(), "denied request"):
		// A webhook denies "the request", a ValidatingAdmissionPolicy just
		// "request"; the status that it denies with is the policy's choice.
		o = NotReached(v1alpha1.ReasonAnnotationRefused, "RBAC or an admission policy refuses the annotation of the pod: "+text.Denial(err)+".")
	default:
		o = NotReached(v1alpha1.ReasonAPIError, "The API server did not take the annotation of the pod; it is tried again.")
	}
	o.Err = err
	return o
}
