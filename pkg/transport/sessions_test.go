package transport

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// dialed is a Dialer that records what is done with its sessions.
type dialed struct {
	did    []string
	report *helperapi.Report
	err    error
	hello  helperapi.Hello
}

func (d *dialed) Open(_ context.Context, in Container) (Session, error) {
	d.did = append(d.did, "open "+in.Name)
	return dialedSession{d, in.Name}, nil
}

type dialedSession struct {
	*dialed
	name string
}

func (s dialedSession) Run(_ context.Context, verb helperapi.Verb, _ helperapi.Request, _ ...Blob) (*helperapi.Report, error) {
	s.did = append(s.did, string(verb)+" "+s.name)
	return s.report, s.err
}

func (s dialedSession) Hello() helperapi.Hello { return s.hello }

func (s dialedSession) Close() { s.did = append(s.did, "close "+s.name) }

func TestSessions(t *testing.T) {
	cases := map[string]struct {
		report *helperapi.Report
		err    error
		want   []string
	}{
		"one session a container": {&helperapi.Report{}, nil, []string{
			"open app", "inspect app", "load app", "open worker", "inspect worker", "close app", "close worker",
		}},
		"what the helper reports is no failure of the session": {&helperapi.Report{}, &Error{}, []string{
			"open app", "inspect app", "load app", "open worker", "inspect worker", "close app", "close worker",
		}},
		"a session that failed is closed, and another one opened": {nil, errors.New("the stream is cut"), []string{
			"open app", "inspect app", "close app", "open app", "load app", "close app", "open worker", "inspect worker", "close worker",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &dialed{report: tc.report, err: tc.err}
			s := NewSessions(d)
			for range 2 {
				if err := s.Open(t.Context(), Container{Name: "app"}); err != nil {
					t.Error(err)
				}
			}
			for _, run := range []struct {
				container string
				verb      helperapi.Verb
			}{{"app", helperapi.VerbInspect}, {"app", helperapi.VerbLoad}, {"worker", helperapi.VerbInspect}} {
				if report, err := s.Run(t.Context(), Container{Name: run.container}, run.verb, helperapi.Request{}); report != tc.report || !errors.Is(err, tc.err) {
					t.Errorf("%s in %s: %v, %v", run.verb, run.container, report, err)
				}
			}
			s.Close()
			s.Close()
			if tc.report != nil { // in any order
				slices.Sort(d.did[len(d.did)-2:])
			}
			if diff := cmp.Diff(tc.want, d.did); diff != "" {
				t.Errorf("what was done (-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing is done in a container that replaced the expected one while the pod's status
// does not show it yet.
func TestSessionsWithAReplacedContainer(t *testing.T) {
	for name, tc := range map[string]struct {
		expected, actual string // container IDs
		want             string // the reason
	}{
		"the one that is meant":    {"containerd://0a", "0a", ""},
		"another one":              {"containerd://0a", "0b", v1alpha1.ReasonReplaced},
		"one that knows no ID":     {"containerd://0a", "", ""},
		"whichever runs":           {"", "0a", ""},
		"an ID without its scheme": {"0a", "0b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dialed{report: &helperapi.Report{}, hello: helperapi.Hello{ContainerID: tc.actual}}
			s := NewSessions(d)
			_, err := s.Run(t.Context(), Container{Name: "app", ID: tc.expected}, helperapi.VerbLoad, helperapi.Request{})
			got := ""
			if known, ok := errors.AsType[*Error](err); ok {
				got = known.Reason
			}
			want := []string{"open app", "load app"}
			if tc.want != "" {
				want = []string{"open app", "close app"}
			}
			if diff := cmp.Diff(want, d.did); got != tc.want || diff != "" {
				t.Errorf("reason %q, want %q; what was done (-want +got):\n%s", got, tc.want, diff)
			}
		})
	}
}
