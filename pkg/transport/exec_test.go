package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// script is a fake of streams: what the next commands answer. It keeps what
// came in.
type script struct {
	answers []answered
	verbs   []string
	stdin   []string
}

type answered struct {
	stdout, stderr string
	err            error
	// forever keeps on printing until the stream is cancelled.
	forever bool
}

func (s *script) stream(ctx context.Context, _ Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	s.verbs = append(s.verbs, command[4])
	s.stdin = append(s.stdin, string(in))
	a := s.answers[0]
	s.answers = s.answers[1:]
	if _, err := io.WriteString(stdout, a.stdout); err != nil {
		return err
	}
	if _, err := io.WriteString(stderr, a.stderr); err != nil {
		return err
	}
	for a.forever && ctx.Err() == nil {
		_, _ = io.WriteString(stdout, strings.Repeat("x", 4096)) // as client-go, which goes on
	}
	return errors.Join(a.err, ctx.Err())
}

func TestRun(t *testing.T) {
	amd64 := NewBlob("jmx-attach-", []byte("amd64"), "")
	missing := answered{stdout: "x86_64\n", err: exited(exitHelperMissing, "")}
	fine := answered{stdout: `{"helperVersion":"1","processes":[{"pid":7,"startTime":9}]}`}
	const request = `{"podUID":"uid-1"}` + "\n"
	cases := map[string]struct {
		answers []answered
		verbs   []string // and what came in on standard input
		want    string   // reason; none if empty
		says    string
	}{
		"the helper is there": {
			answers: []answered{fine},
			verbs:   []string{"stage: " + request + "content"},
		},
		"the helper is missing": {
			answers: []answered{missing, {}, fine},
			verbs:   []string{"stage: " + request + "content", amd64.Name + ": uid-1\namd64", "stage: " + request + "content"},
		},
		"the helper arrives cut": {
			answers: []answered{missing, {err: exited(exitCut, "")}},
			verbs:   []string{"stage: " + request + "content", amd64.Name + ": uid-1\namd64"},
			want:    v1alpha1.ReasonStagingIncomplete,
		},
		"the helper does not stay": {
			answers: []answered{missing, {}, missing},
			verbs:   []string{"stage: " + request + "content", amd64.Name + ": uid-1\namd64", "stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed,
		},
		"a machine that nobody knows": {
			answers: []answered{{stdout: "z80\n", err: exited(exitHelperMissing, "")}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed, says: "which machine",
		},
		"no Java": {
			answers: []answered{{err: exited(exitNoJava, "")}},
			verbs:   []string{"stage: " + request + "content"},
		},
		"the helper says why not": {
			answers: []answered{{stdout: `{"error":{"reason":"Busy","message":"Another one works on it."}}`, err: exited(1, "")}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonBusy, says: "Another one works on it.",
		},
		"no JSON": {
			answers: []answered{{stdout: "hello", stderr: "oh no\n", err: exited(1, "")}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed, says: "broke off: oh no.",
		},
		"a reason that nobody knows": {
			answers: []answered{{stdout: `{"error":{"reason":"Whatever","message":"Two\nlines."}}`, err: exited(1, "")}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed, says: "Two.",
		},
		"no JSON, and no failure": {
			answers: []answered{{stdout: "hello"}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed, says: "cannot be read",
		},
		"too much output": {
			answers: []answered{{forever: true}},
			verbs:   []string{"stage: " + request + "content"},
			want:    v1alpha1.ReasonHelperFailed, says: "256 KiB",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: tc.answers}
			var seen []string
			seam := func(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
				seen = append(seen, e.String())
				return do(ctx)
			}
			e := &Exec{streams: s, artifacts: &Artifacts{Helpers: map[string]Blob{"x86_64": amd64}}, seam: seam, limits: NewLimits(1, 1)}
			in := Container{Namespace: "ns", Pod: "app-0", PodUID: "uid-1", Name: "app", Node: "node-1"}
			_, err := e.Run(t.Context(), in, attach.VerbStage, attach.Request{}, Blob{Content: []byte("content")})

			var verbs []string
			for i, verb := range s.verbs {
				verbs = append(verbs, verb+": "+s.stdin[i])
			}
			if diff := cmp.Diff(tc.verbs, verbs); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if len(seen) != len(s.verbs) || !slices.Contains(seen, "exec stage ns/app-0/app") {
				t.Errorf("effects: %q", seen)
			}
			var known *Error
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error: %v", err)
			case tc.want != "" && (!errors.As(err, &known) || known.Reason != tc.want || !strings.Contains(known.Message, tc.says)):
				t.Errorf("error: %#v, want %s: %q", err, tc.want, tc.says)
			}
		})
	}
}

// No more execs than allowed are under way, in all and on one node: who finds no
// place is told at once.
func TestLimits(t *testing.T) {
	l := NewLimits(2, 1)
	releases := map[string]func(){}
	var got []string
	for _, act := range []string{"+a", "+a", "+b", "+c", "-a", "+c", "+a", "-c", "+a"} {
		node := act[1:]
		if act[0] == '-' {
			releases[node]()
			continue
		}
		release, err := l.acquire(node)
		if err == nil {
			releases[node] = release
		}
		got = append(got, fmt.Sprintf("%s %t", node, err == nil))
	}
	if diff := cmp.Diff([]string{"a true", "a false", "b true", "c false", "c true", "a false", "a true"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
