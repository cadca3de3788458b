package authority

import (
	"context"
	"errors"
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
	fails     error
	asked     []string
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
