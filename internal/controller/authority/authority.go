// Package authority asks the API server whether the user who wrote an exporter may
// attach, according to the user's current rights.
package authority

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// maxAnswers is the maximum number of cached answers: one per exporter and requester.
const maxAnswers = 4096

// Authority implements steps.Authority with LocalSubjectAccessReviews, which a Role can
// allow in its namespace. It is safe for concurrent use.
type Authority struct {
	reviews client.LocalSubjectAccessReviewsGetter
	seam    effects.Seam
	answers *cache.LRUExpireCache
}

var _ steps.Authority = (*Authority)(nil)

// New returns an Authority whose reviews pass through the seam.
func New(reviews client.LocalSubjectAccessReviewsGetter, seam effects.Seam, clock clock.PassiveClock) *Authority {
	return &Authority{reviews: reviews, seam: seam, answers: cache.NewLRUExpireCacheWithClock(maxAnswers, clock)}
}

// question is the cache key of an answer.
type question struct {
	what         string
	on           types.NamespacedName
	user, groups string
}

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create

// MayAttach implements steps.Authority: a requester may attach with create on pods/exec
// in the namespace, or with the verb attach on the exporter. An answer is cached for
// steps.AuthorityPeriod; an error is not, nor is a denial if another right could not be
// evaluated.
func (a *Authority) MayAttach(ctx context.Context, who steps.Requester, exporter types.NamespacedName) (bool, error) {
	return a.any(ctx, "attach", who, exporter,
		exec,
		authorizationv1.ResourceAttributes{Verb: "attach", Group: v1alpha1.GroupVersion.Group, Resource: "prometheusjmxexporters", Name: exporter.Name},
	)
}

// exec is the right to execute commands in pods.
var exec = authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "exec"}

// MayExec implements steps.Authority.
func (a *Authority) MayExec(ctx context.Context, who steps.Requester, exporter types.NamespacedName) (bool, error) {
	return a.any(ctx, "exec", who, exporter, exec)
}

// MayRead implements steps.Authority.
func (a *Authority) MayRead(ctx context.Context, who steps.Requester, secret types.NamespacedName) (bool, error) {
	return a.any(ctx, "read", who, secret, authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Name: secret.Name})
}

// any checks whether the requester has one of the rights in the namespace of an object; what
// names the question.
func (a *Authority) any(ctx context.Context, what string, who steps.Requester, on types.NamespacedName, rights ...authorizationv1.ResourceAttributes) (bool, error) {
	key := question{what, on, who.User, fmt.Sprintf("%q", who.Groups)}
	if answer, ok := a.answers.Get(key); ok {
		return answer.(bool), nil
	}
	var undecided error
	for _, right := range rights {
		right.Namespace = on.Namespace
		allowed, err := a.review(ctx, who, on, right)
		if _, ok := errors.AsType[*steps.UndecidedError](err); ok {
			undecided = err // the other right may suffice
			continue
		}
		if err != nil {
			return false, err
		}
		if allowed {
			return a.answer(key, true), nil
		}
	}
	if undecided != nil {
		return false, undecided
	}
	return a.answer(key, false), nil
}

func (a *Authority) answer(q question, allowed bool) bool {
	a.answers.Add(q, allowed, steps.AuthorityPeriod)
	return allowed
}

func (a *Authority) review(ctx context.Context, who steps.Requester, on types.NamespacedName, right authorizationv1.ResourceAttributes) (allowed bool, err error) {
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: right.Namespace},
		Spec:       authorizationv1.SubjectAccessReviewSpec{User: who.User, Groups: who.Groups, ResourceAttributes: &right},
	}
	effect := effects.Effect{Kind: effects.Review, What: right.Verb, On: on.String()}
	err = a.seam(ctx, effect, func(ctx context.Context) error {
		answer, err := a.reviews.LocalSubjectAccessReviews(right.Namespace).Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("cannot review the right to %s: %w", right.Verb, err)
		}
		allowed = answer.Status.Allowed
		if s := answer.Status; !s.Allowed && !s.Denied && s.EvaluationError != "" {
			return fmt.Errorf("cannot review the right to %s: %w", right.Verb, &steps.UndecidedError{Cause: s.EvaluationError})
		}
		return nil
	})
	return allowed && err == nil, err
}
