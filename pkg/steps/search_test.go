package steps

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A record that was lost lifts no protection. Without an exporter, its pod is searched for agents
// if something shows that the operator was in it, and an agent that may stay is a failure.
func TestSearchOfLostRecord(t *testing.T) {
	ours := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot", Mark: isRunning, AgentJarOpen: true})
	flagged := func(s *scene) {
		s.Attachment.Name = "record"
		s.Pod.Annotations = map[string]string{v1alpha1.AnnotationFlag: "record"}
	}
	published := func(s *scene) { s.Published = []PublishedEndpoint{{anAddress, 9400, false}} }
	byOrphan := func(s *scene) { s.Attachment.Spec.Exporter.UID = "" }
	protected := func(s *scene) { sharesNetwork(s.Pod) }
	unauthorized := func(o statemachine.Outcome) func(*scene) {
		return func(s *scene) { s.Unauthorized = func() *statemachine.Outcome { return &o } }
	}
	refused := unauthorized(record.NotDone(v1alpha1.ReasonNotAuthorized, `User "mallory" may not.`))
	undecided := unauthorized(failed(errors.New("no answer")))
	known := func(s *scene) { s.Status().Processes = []v1alpha1.JavaProcess{serving("a", 9400)} }
	for name, tc := range map[string]struct {
		how  []func(*scene)
		ran  []string
		says string // the failure; empty for none
	}{
		"nothing shows that the operator was in the pod": {},
		"the pod has the operator's annotation":          {how: []func(*scene){flagged}, ran: []string{"a inspect", "b inspect"}},
		"the annotation is of another record": {how: []func(*scene){flagged, func(s *scene) {
			s.Attachment.Name = "another"
		}}},
		"an endpoint is published":                           {how: []func(*scene){published}, ran: []string{"a inspect", "b inspect"}},
		"the record was made for an orphan":                  {how: []func(*scene){byOrphan}, ran: []string{"a inspect", "b inspect"}},
		"the pod is protected":                               {how: []func(*scene){protected}},
		"an orphan is protected":                             {how: []func(*scene){protected, byOrphan}, says: "--allow-host-network"},
		"the pod has the annotation, and is protected":       {how: []func(*scene){protected, flagged}, says: "--allow-host-network"},
		"the pod is protected, and the record knows a JVM":   {how: []func(*scene){protected, known}, ran: []string{"a inspect"}, says: "container b"},
		"the requester may not attach":                       {how: []func(*scene){refused}},
		"the requester of an endpoint may not attach":        {how: []func(*scene){refused, published}, says: "mallory"},
		"the pod has the annotation, the requester no right": {how: []func(*scene){refused, flagged}, ran: []string{"a inspect", "b inspect"}},
		"the right cannot be reviewed":                       {how: []func(*scene){undecided, published}, says: "The API server"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.runs("b")
			s.Attachment.Spec.Exporter.UID = "exporter"
			for _, how := range tc.how {
				how(s)
			}
			s.Begun = s.Status().DeepCopy()
			helper := &answering{answers: map[string]func() (*helperapi.Report, error){"a inspect": sees(), "b inspect": ours}}
			s.Helper = helper
			err := s.FindAgents(t.Context(), s.Situation)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got error %v, want %q", err, tc.says)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper operations (-want +got):\n%s", diff)
			}
			found := s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Container == "b" && p.AgentFound })
			if searched := slices.Contains(tc.ran, "b inspect"); searched != (found != nil) {
				t.Errorf("agent in container b: got %v, want any: %t", found, searched)
			}
		})
	}
}

// A pod whose record was lost is inspected like a new one: not if it is protected.
func TestInspectionOfLostRecord(t *testing.T) {
	s := aSituation()
	s.runs("a")
	sharesNetwork(s.Pod)
	s.Published = []PublishedEndpoint{{anAddress, 9400, false}}
	helper := &answering{}
	s.Helper = helper
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != v1alpha1.ReasonPodProtected || len(helper.ran) > 0 {
		t.Errorf("got %q with helper operations %q, want PodProtected and none", got.Reason, helper.ran)
	}
}
