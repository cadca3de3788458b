package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Requester is who wrote an exporter's spec, as the API server authenticated them.
type Requester struct {
	User   string
	Groups []string
}

// Authority answers whether a requester may have the operator attach for an exporter: the
// rights that writing its spec takes.
type Authority interface {
	MayAttach(ctx context.Context, who Requester, exporter types.NamespacedName) (bool, error)
	// MayRead answers whether they may get a Secret, which attaching brings into pods.
	MayRead(ctx context.Context, who Requester, secret types.NamespacedName) (bool, error)
}

// UndecidedError is what kept the API server from deciding whether a requester has a right,
// such as a role that a binding names and that is missing.
type UndecidedError struct{ Cause string }

// Error implements error.
func (e *UndecidedError) Error() string { return "undecided: " + e.Cause }

// RequesterOf is who wrote the exporter's spec, by its stamp: nil where nothing stamped
// it, as before config/stamp or without it. Of a stamp that cannot be read it says why.
func RequesterOf(exporter *v1alpha1.PrometheusJmxExporter) (who *Requester, problem string) {
	user, ok := exporter.Annotations[v1alpha1.AnnotationRequester]
	if !ok {
		return nil, ""
	}
	who = &Requester{User: user}
	if groups := exporter.Annotations[v1alpha1.AnnotationRequesterGroups]; json.Unmarshal([]byte(groups), &who.Groups) != nil {
		return nil, fmt.Sprintf("The exporter's annotation %s is not a JSON array of strings; the rights of the user who wrote its spec cannot be determined.", v1alpha1.AnnotationRequesterGroups)
	}
	return who, ""
}

// Name is the user, cut for a message.
func (r Requester) Name() string { return text.Cut(r.User, maxUser) }

// AuthorityPeriod is how long an answer of the Authority is trusted, and the time after
// which one that was negative is asked for again: a right that is granted is noticed
// after twice that time at most.
const AuthorityPeriod = 5 * time.Minute

// containerNotAuthorized is why nothing is executed in the container; nil when something
// may be, or an agent may be there already: what serves goes on when a right is withdrawn.
func (s *Scope) containerNotAuthorized(ctx context.Context, c container) *statemachine.Outcome {
	if s.mayServe(c) {
		return nil
	}
	return s.notAuthorized(ctx)
}

// ProcessNotAuthorized is why nothing is loaded into a process that was found when the
// right was there; nil when it may be, or was.
func (s *Scope) ProcessNotAuthorized(ctx context.Context, p *v1alpha1.JavaProcess) *statemachine.Outcome {
	if serves(p) {
		return nil
	}
	return s.notAuthorized(ctx)
}

// notAuthorized asks for the right of who wrote the exporter. One that nothing stamped is
// older than the stamp, or in a cluster without it (config/stamp).
func (s *Scope) notAuthorized(ctx context.Context) *statemachine.Outcome {
	const how = "To allow it, %s or have an authorized user set the exporter's annotation " + v1alpha1.AnnotationResume + " to a new value."
	if s.Authority == nil {
		return nil
	}
	refused := func(message string, args ...any) *statemachine.Outcome {
		o := NotDone(v1alpha1.ReasonNotAuthorized, fmt.Sprintf(message, args...))
		o.RetryAfter = AuthorityPeriod
		return &o
	}
	who, problem := RequesterOf(s.Exporter)
	switch {
	case problem != "":
		return refused(problem+" "+how, "deploy config/stamp,")
	case who == nil:
		return nil
	}
	allowed, err := s.Authority.MayAttach(ctx, *who, client.ObjectKeyFromObject(s.Exporter))
	undecided, ok := errors.AsType[*UndecidedError](err)
	switch {
	case ok:
		o := failed(err)
		o.Message = fmt.Sprintf("The API server could not decide whether user %q, who wrote the exporter's spec, may attach in namespace %s (%q); nothing new is attached. Fix the reported cause; retrying.",
			who.Name(), s.Exporter.Namespace, text.Line(undecided.Cause, 250))
		return &o
	case apierrors.IsForbidden(err):
		o := failed(err)
		o.Message = fmt.Sprintf("RBAC does not let the operator create localsubjectaccessreviews.authorization.k8s.io in namespace %s; nothing new is attached without this review. Apply the roles in config/rbac.", s.Exporter.Namespace)
		return &o
	case err != nil:
		return new(failed(err))
	case allowed:
		return nil
	}
	return refused("User %q, who wrote the exporter's spec, may neither create pods/exec nor attach prometheusjmxexporters.banzaicloud.com in namespace %s; nothing new is attached. "+how,
		who.Name(), s.Exporter.Namespace, "bind the role jmx-exporter-operator-attach to the user in that namespace,")
}

// maxUser bounds what a message repeats of a user's name, in bytes.
const maxUser = 253
