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

// reviewer allows the rights that it has, and notes what it was asked.
type reviewer struct {
	client.LocalSubjectAccessReviewInterface
	namespace string
	allows    map[string]bool
	// denies are the verbs that are denied for certain, whatever else failed.
	denies map[string]bool
	// unsure is the status' evaluationError.
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
	review.Status.Allowed = r.allows[right.Verb] // also where it fails: nobody is to look at it
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
		"who may exec":         {map[string]bool{"create": true}, true, []string{asksExec}},
		"to whom it was given": {map[string]bool{"attach": true}, true, []string{asksExec, asksAttach}},
		"nobody else":          {nil, false, []string{asksExec, asksAttach}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{allows: tc.allows}
			got, err := New(r, effects.Direct, testclock.NewFakePassiveClock(begin)).MayAttach(t.Context(), alice, exporter)
			if got != tc.want || err != nil {
				t.Errorf("got %t, %v", got, err)
			}
			if diff := cmp.Diff(tc.asked, r.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// An answer is kept for its time, for the same question; an error is not, and is never
// taken for an answer.
func TestAnswersKept(t *testing.T) {
	clock := testclock.NewFakePassiveClock(begin)
	r := &reviewer{allows: map[string]bool{"create": true}, fails: errors.New("no answer")}
	a := New(r, effects.Direct, clock)
	asks := func(when string, who steps.Requester, of types.NamespacedName, want bool, asks int) {
		t.Helper()
		r.asked = nil
		got, err := a.MayAttach(t.Context(), who, of)
		if got != want || (err != nil) != (r.fails != nil && asks > 0) || len(r.asked) != asks {
			t.Errorf("%s: got %t, %v, and asked %q", when, got, err, r.asked)
		}
	}
	asks("no answer", alice, exporter, false, 1)
	r.fails = nil
	asks("first", alice, exporter, true, 1)
	r.allows = nil
	asks("at once", alice, exporter, true, 0)
	asks("another exporter", alice, types.NamespacedName{Namespace: "shop", Name: "other"}, false, 2)
	asks("another namespace", alice, types.NamespacedName{Namespace: "bank", Name: "exporter"}, false, 2)
	asks("another user", steps.Requester{User: "bob", Groups: alice.Groups}, exporter, false, 2)
	asks("other groups", steps.Requester{User: "alice", Groups: []string{"a", "b c"}}, exporter, false, 2)
	clock.SetTime(begin.Add(steps.AuthorityPeriod - time.Second))
	asks("just before its time is over", alice, exporter, true, 0)
	r.fails = errors.New("no answer")
	clock.SetTime(begin.Add(steps.AuthorityPeriod + time.Second))
	asks("its time is over, and no answer", alice, exporter, false, 1)
	r.fails = nil
	asks("withdrawn", alice, exporter, false, 2)
	asks("a denial is kept, too", alice, exporter, false, 0)
}

// What the API server could not evaluate is no answer: a role that is missing at the
// moment, or an authorizer that does not respond, denies nobody for good.
func TestEvaluationError(t *testing.T) {
	const unsure = `clusterrole.rbac.authorization.k8s.io "team" not found`
	for name, tc := range map[string]struct {
		allows, denies map[string]bool
		want           bool
		says           string
		asked          int
	}{
		"nothing is known":           {says: unsure, asked: 4},
		"the first right is allowed": {allows: map[string]bool{"create": true}, want: true, asked: 1},
		"the other right is allowed": {allows: map[string]bool{"attach": true}, want: true, asked: 2},
		"one is denied for certain":  {denies: map[string]bool{"create": true}, says: unsure, asked: 4},
		"both are denied":            {denies: map[string]bool{"create": true, "attach": true}, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{allows: tc.allows, denies: tc.denies, unsure: unsure}
			a := New(r, effects.Direct, testclock.NewFakePassiveClock(begin))
			for range 2 {
				got, err := a.MayAttach(t.Context(), alice, exporter)
				if got != tc.want || (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %t, %v", got, err)
				}
			}
			if len(r.asked) != tc.asked {
				t.Errorf("asked %q, want %d questions: an answer is kept, and no answer is not", r.asked, tc.asked)
			}
		})
	}
}
