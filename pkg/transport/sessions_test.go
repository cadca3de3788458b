package transport

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// dialed opens sessions that write down what happens to them.
type dialed struct {
	did    []string
	report *helperapi.Report
	err    error
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

func (dialedSession) Hello() helperapi.Hello { return helperapi.Hello{} }

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
