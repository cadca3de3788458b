package authority

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// reviewer allows the rights that it has, and records the reviews.
type reviewer struct {
	client.LocalSubjectAccessReviewInterface
	namespace string
	allows    map[string]bool
	// denies are verbs with a definite denial, whatever else failed.
	denies map[string]bool
	// unsure is the evaluationError of the status.
	unsure string
	fails  error
	asked  []string
}

func (r *reviewer) LocalSubjectAccessReviews(namespace string) client.LocalSubjectAccessReviewInterface {
	r.namespace = namespace
	return r
}

func (r *reviewer) Create(_ context.Context, review *authorizationv1.LocalSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.LocalSubjectAccessReview, error) {
	right := review.Spec.ResourceAttributes
	asked := review.Spec.User + " " + r.namespace + " " + right.Namespace + " " + right.Verb + " " + right.Resource + "/" + right.Subresource + " " + right.Name
	r.asked = append(r.asked, asked)
	review.Status.Allowed = r.allows[right.Verb] // even with an error: the caller must not use it
	review.Status.Denied, review.Status.EvaluationError = r.denies[right.Verb], r.unsure
	return review, r.fails
}

var (
	exporter = types.NamespacedName{Namespace: "shop", Name: "exporter"}
	alice    = steps.Requester{User: "alice", Groups: []string{"a b", "c"}}
	begin    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

const (
	asksExec   = "alice shop shop create pods/exec "
	asksAttach = "alice shop shop attach prometheusjmxexporters/ exporter"
)

func TestMayAttach(t *testing.T) {
	for name, tc := range map[string]struct {
		allows map[string]bool
		want   bool
		asked  []string
	}{
		"the user may exec":            {map[string]bool{"create": true}, true, []string{asksExec}},
		"the user has the verb attach": {map[string]bool{"attach": true}, true, []string{asksExec, asksAttach}},
		"the user has no right":        {nil, false, []string{asksExec, asksAttach}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{allows: tc.allows}
			got, err := New(r, effects.Direct, testclock.NewFakePassiveClock(begin)).MayAttach(t.Context(), alice, exporter)
			if got != tc.want || err != nil {
				t.Errorf("got %t, %v, want %t", got, err, tc.want)
			}
			if diff := cmp.Diff(tc.asked, r.asked); diff != "" {
				t.Errorf("reviews (-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever may attach by the verb of that name may not exec, whichever is asked first.
func TestMayExec(t *testing.T) {
	r := &reviewer{allows: map[string]bool{"attach": true}}
	a := New(r, effects.Direct, testclock.NewFakePassiveClock(begin))
	for range 2 {
		if got, err := a.MayAttach(t.Context(), alice, exporter); !got || err != nil {
			t.Errorf("MayAttach: got %t, %v, want true", got, err)
		}
		if got, err := a.MayExec(t.Context(), alice, exporter); got || err != nil {
			t.Errorf("MayExec: got %t, %v, want false", got, err)
		}
	}
	if diff := cmp.Diff([]string{asksExec, asksAttach, asksExec}, r.asked); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
}

// An answer is cached for a time, for the same question; an error is not cached, and never
// counts as an answer.
func TestAnswersKept(t *testing.T) {
	clock := testclock.NewFakePassiveClock(begin)
	r := &reviewer{allows: map[string]bool{"create": true}, fails: errors.New("no answer")}
	a := New(r, effects.Direct, clock)
	asks := func(when string, who steps.Requester, of types.NamespacedName, want bool, asks int) {
		t.Helper()
		r.asked = nil
		got, err := a.MayAttach(t.Context(), who, of)
		if got != want || (err != nil) != (r.fails != nil && asks > 0) || len(r.asked) != asks {
			t.Errorf("%s: got %t, %v with reviews %q", when, got, err, r.asked)
		}
	}
	asks("the review fails", alice, exporter, false, 1)
	r.fails = nil
	asks("first", alice, exporter, true, 1)
	r.allows = nil
	asks("the answer is cached", alice, exporter, true, 0)
	asks("the exporter is another", alice, types.NamespacedName{Namespace: "shop", Name: "other"}, false, 2)
	asks("the namespace is another", alice, types.NamespacedName{Namespace: "bank", Name: "exporter"}, false, 2)
	asks("the user is another", steps.Requester{User: "bob", Groups: alice.Groups}, exporter, false, 2)
	asks("the groups are others", steps.Requester{User: "alice", Groups: []string{"a", "b c"}}, exporter, false, 2)
	clock.SetTime(begin.Add(steps.AuthorityPeriod - time.Second))
	asks("the answer has almost expired", alice, exporter, true, 0)
	r.fails = errors.New("no answer")
	clock.SetTime(begin.Add(steps.AuthorityPeriod + time.Second))
	asks("the answer has expired, and the review fails", alice, exporter, false, 1)
	r.fails = nil
	asks("withdrawn", alice, exporter, false, 2)
	asks("a denial is cached, too", alice, exporter, false, 0)
}

// A review that could not be evaluated is no answer: a role that is temporarily missing, or an
// authorizer that does not respond, denies no one permanently.
func TestEvaluationError(t *testing.T) {
	const unsure = `clusterrole.rbac.authorization.k8s.io "team" not found`
	for name, tc := range map[string]struct {
		allows, denies map[string]bool
		want           bool
		says           string
		asked          int
	}{
		"no right can be evaluated":      {says: unsure, asked: 4},
		"the first right is allowed":     {allows: map[string]bool{"create": true}, want: true, asked: 1},
		"the other right is allowed":     {allows: map[string]bool{"attach": true}, want: true, asked: 2},
		"one right is denied definitely": {denies: map[string]bool{"create": true}, says: unsure, asked: 4},
		"both rights are denied":         {denies: map[string]bool{"create": true, "attach": true}, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{allows: tc.allows, denies: tc.denies, unsure: unsure}
			a := New(r, effects.Direct, testclock.NewFakePassiveClock(begin))
			for range 2 {
				got, err := a.MayAttach(t.Context(), alice, exporter)
				if got != tc.want || (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %t, %v, want %t", got, err, tc.want)
				}
			}
			if len(r.asked) != tc.asked {
				t.Errorf("got reviews %q, want %d: only an answer is cached", r.asked, tc.asked)
			}
		})
	}
}
