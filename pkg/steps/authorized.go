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
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Requester is the user who wrote an exporter's spec, as authenticated by the API
// server.
type Requester struct {
	User   string
	Groups []string
}

// Authority reports whether a requester has the rights that writing an exporter's spec
// requires.
type Authority interface {
	MayAttach(ctx context.Context, who Requester, exporter types.NamespacedName) (bool, error)
	// MayExec reports whether the requester may execute commands in the pods of the
	// exporter's namespace, and so read their command lines.
	MayExec(ctx context.Context, who Requester, exporter types.NamespacedName) (bool, error)
	// MayRead reports whether the requester may get a Secret, which attaching copies
	// into pods.
	MayRead(ctx context.Context, who Requester, secret types.NamespacedName) (bool, error)
}

// UndecidedError is returned if the API server could not evaluate a right of a
// requester, for example because a binding refers to a missing role.
type UndecidedError struct{ Cause string }

// Error implements error.
func (e *UndecidedError) Error() string { return "undecided: " + e.Cause }

// RequesterOf returns the user who wrote the exporter's spec, according to its stamp;
// nil if it has no stamp, for example without config/stamp. If the stamp cannot be
// parsed, it returns the problem.
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

// Name returns the user name, cut for a message.
func (r Requester) Name() string { return text.Cut(r.User, maxUser) }

// AuthorityPeriod is how long an answer of the Authority is cached, and the time after
// which a negative one is checked again: a granted right takes effect after at most
// twice this time.
const AuthorityPeriod = 5 * time.Minute

// Unauthorized returns why the user who wrote the exporter may not attach; nil if the
// user may, or without an Authority. An exporter without a stamp is older than the stamp,
// or in a cluster without it (config/stamp).
func Unauthorized(ctx context.Context, authority Authority, exporter *v1alpha1.PrometheusJmxExporter) *statemachine.Outcome {
	const how = "To allow it, %s or have an authorized user set the exporter's annotation " + v1alpha1.AnnotationResume + " to a new value."
	if authority == nil {
		return nil
	}
	refused := func(message string, args ...any) *statemachine.Outcome {
		o := record.NotDone(v1alpha1.ReasonNotAuthorized, fmt.Sprintf(message, args...))
		o.RetryAfter = AuthorityPeriod
		return &o
	}
	who, problem := RequesterOf(exporter)
	switch {
	case problem != "":
		return refused(problem+" "+how, "deploy config/stamp,")
	case who == nil:
		return nil
	}
	lacks, err := lacking(ctx, authority, *who, exporter)
	undecided, ok := errors.AsType[*UndecidedError](err)
	switch {
	case ok:
		o := failed(err)
		o.Message = fmt.Sprintf("The API server could not decide whether user %q, who wrote the exporter's spec, may attach in namespace %s (%q); nothing new is attached. Fix the reported cause; retrying.",
			who.Name(), exporter.Namespace, text.Line(undecided.Cause, 250))
		return &o
	case apierrors.IsForbidden(err):
		o := failed(err)
		o.Message = fmt.Sprintf("RBAC does not let the operator create localsubjectaccessreviews.authorization.k8s.io in namespace %s; nothing new is attached without this review. Apply the roles in config/rbac.", exporter.Namespace)
		return &o
	case err != nil:
		return new(failed(err))
	case lacks == nil:
		return nil
	}
	return refused("User %q, who wrote the exporter's spec, %s in namespace %s%s; nothing new is attached. "+how, who.Name(), lacks.right, exporter.Namespace, lacks.needs, lacks.how)
}

// lack is what a requester lacks, as parts of a message.
type lack struct{ right, needs, how string }

// lacking returns which right the requester lacks that the exporter's spec takes; nil if none.
func lacking(ctx context.Context, authority Authority, who Requester, exporter *v1alpha1.PrometheusJmxExporter) (*lack, error) {
	name := client.ObjectKeyFromObject(exporter)
	allowed, err := authority.MayAttach(ctx, who, name)
	switch {
	case err != nil:
		return nil, err
	case !allowed:
		return &lack{"may neither create pods/exec nor attach prometheusjmxexporters.banzaicloud.com", "", "bind the role jmx-exporter-operator-attach to the user in that namespace,"}, nil
	case !readsArguments(exporter):
		return nil, nil
	}
	if allowed, err = authority.MayExec(ctx, who, name); err != nil || allowed {
		return nil, err
	}
	return &lack{"may not create pods/exec", ", which spec.processes[].wholeArgument requires, since it reads arguments", "use spec.processes[].argument instead, bind a role with that right to the user in that namespace,"}, nil
}

// maxUser is the maximum length of a user name in a message, in bytes.
const maxUser = 253
