package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// authority is an Authority that allows some users, and records the reviewed users.
type authority struct {
	allows, executes string
	fails            error
	asked            []Requester
}

// MayAttach implements Authority.
func (a *authority) MayAttach(_ context.Context, who Requester, _ types.NamespacedName) (bool, error) {
	a.asked = append(a.asked, who)
	return who.User == a.allows, a.fails
}

// MayExec implements Authority.
func (a *authority) MayExec(_ context.Context, who Requester, _ types.NamespacedName) (bool, error) {
	a.asked = append(a.asked, who)
	return who.User == a.executes, a.fails
}

// MayRead implements Authority.
func (a *authority) MayRead(context.Context, Requester, types.NamespacedName) (bool, error) {
	return false, errors.New("the steps read no Secret")
}

// stamped sets the admission policy's annotations on the exporter.
func (s *scene) stamped(user, groups string) {
	s.Exporter.Namespace = "shop"
	s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: user, v1alpha1.AnnotationRequesterGroups: groups}
}

// reviewedBy has the rights of the exporter's author reviewed.
func (s *scene) reviewedBy(t *testing.T, a Authority) {
	s.Unauthorized = func() *statemachine.Outcome { return Unauthorized(t.Context(), a, s.Exporter) }
}

// Nothing is executed in a pod before the author of the exporter is known to have the right.
func TestNotAuthorized(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "localsubjectaccessreviews"}, "", errors.New("no"))
	for name, tc := range map[string]struct {
		user, groups string
		fails        error
		want         string
		says         []string
		asked        []Requester
	}{
		"the right exists": {user: "alice", groups: `["a","b\"c"]`, asked: []Requester{{"alice", []string{"a", `b"c`}}}},
		"the right is missing": {user: "bob\u202e", groups: `[]`, want: v1alpha1.ReasonNotAuthorized, asked: []Requester{{"bob\u202e", []string{}}},
			says: []string{`User "bob?", who wrote`, "create pods/exec", "attach prometheusjmxexporters", "in namespace shop", "jmx-exporter-operator-attach", v1alpha1.AnnotationResume}},
		"the groups are not an array": {user: "alice", groups: `a,b`, want: v1alpha1.ReasonNotAuthorized, says: []string{v1alpha1.AnnotationRequesterGroups, "config/stamp"}},
		"the groups are missing":      {user: "alice", want: v1alpha1.ReasonNotAuthorized, says: []string{v1alpha1.AnnotationRequesterGroups}},
		"the review fails":            {user: "alice", groups: `[]`, fails: errors.New("no"), want: v1alpha1.ReasonAPIError, asked: []Requester{{"alice", []string{}}}},
		"the right cannot be evaluated": {user: "alice", groups: `[]`, fails: fmt.Errorf("review: %w", &UndecidedError{`role "team"` + "\x1b[31m not found"}), want: v1alpha1.ReasonAPIError,
			asked: []Requester{{"alice", []string{}}}, says: []string{`user "alice"`, `in namespace shop ("role \"team\" not found")`, "retrying"}},
		"the review is forbidden": {user: "alice", groups: `[]`, fails: forbidden, want: v1alpha1.ReasonAPIError, asked: []Requester{{"alice", []string{}}},
			says: []string{"localsubjectaccessreviews", "config/rbac"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.stamped(tc.user, tc.groups)
			asked := &authority{allows: "alice", fails: tc.fails}
			helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": sees(helperapi.Process{Target: aTarget})}}
			s.reviewedBy(t, asked)
			s.Helper = helper
			got := FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
			if got.Reason != tc.want {
				t.Errorf("reason: got %q (%s), want %q", got.Reason, got.Message, tc.want)
			}
			for _, says := range tc.says {
				if !strings.Contains(got.Message, says) {
					t.Errorf("message: got %q, want it to contain %s", got.Message, says)
				}
			}
			if diff := cmp.Diff(tc.asked, asked.asked); diff != "" {
				t.Errorf("reviewed users (-want +got):\n%s", diff)
			}
			if ran := len(helper.ran) > 0; ran != (tc.want == "") {
				t.Errorf("helper operations: got %q", helper.ran)
			}
			if tc.want == v1alpha1.ReasonNotAuthorized && (got.Kind != statemachine.Failed || got.RetryAfter != AuthorityPeriod || s.inspectAfter() != AuthorityPeriod) {
				t.Errorf("retry: got %s and inspectAfter %s, want AuthorityPeriod", got.RetryAfter, s.inspectAfter())
			}
		})
	}
}

// A rule that reads arguments takes the right to exec, and one for the names of options none.
func TestArgumentsTakeExec(t *testing.T) {
	whole := []v1alpha1.ProcessRule{{}, {WholeArgument: "-Da=.*"}}
	for name, tc := range map[string]struct {
		rules    []v1alpha1.ProcessRule
		executes string
		fails    error
		want     string
		reviews  int
	}{
		"no rules":                           {reviews: 1},
		"names of options":                   {rules: []v1alpha1.ProcessRule{{Argument: "-Da"}}, reviews: 1},
		"whole arguments, with the right":    {rules: whole, executes: "alice", reviews: 2},
		"whole arguments, without the right": {rules: whole, want: v1alpha1.ReasonNotAuthorized, reviews: 2},
		"whole arguments, without an answer": {rules: whole, fails: errors.New("no"), want: v1alpha1.ReasonAPIError, reviews: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.stamped("alice", "[]")
			s.Exporter.Spec.Processes = tc.rules
			asked := &authority{allows: "alice", executes: tc.executes, fails: tc.fails}
			reason := ""
			if got := Unauthorized(t.Context(), asked, s.Exporter); got != nil {
				reason = got.Reason
			}
			if reason != tc.want || len(asked.asked) != tc.reviews {
				t.Errorf("got %q after %d reviews, want %q after %d", reason, len(asked.asked), tc.want, tc.reviews)
			}
		})
	}
}

// An unknown author is not reviewed: the exporter is older than the stamp.
func TestNoStamp(t *testing.T) {
	s := aSituation()
	asked := &authority{}
	if refused := Unauthorized(t.Context(), asked, s.Exporter); refused != nil || asked.asked != nil {
		t.Errorf("reviewed users: got %v; outcome: got %v, want none", asked.asked, refused)
	}
}

// An existing endpoint keeps serving when the right is revoked; nothing new begins beside it.
func TestNotAuthorizedWhenAttached(t *testing.T) {
	s := aSituation(serving("a", 9400), aProcess("b", 0)).inspectedWell()
	s.stamped("bob", "[]")
	s.reviewedBy(t, &authority{})
	s.InspectAgain("a")
	s.InspectAgain("b")
	helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": sees(helperapi.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true})}}
	s.Helper = helper
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != statemachine.Done {
		t.Errorf("got %q (%s), want Done", got.Reason, got.Message)
	}
	if diff := cmp.Diff([]string{"a inspect"}, helper.ran); diff != "" {
		t.Errorf("helper operations (-want +got):\n%s", diff)
	}
	if after := s.inspectAfter(); after != AuthorityPeriod {
		t.Errorf("inspectAfter: got %s, want %s", after, AuthorityPeriod)
	}
	for _, p := range s.Filter(func(*v1alpha1.JavaProcess) bool { return true }) {
		if refused := s.processForbidden(p); (refused == nil) != (p.Container == "a") {
			t.Errorf("processForbidden of container %s: got %+v", p.Container, refused)
		}
	}
}
