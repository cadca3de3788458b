package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// answers reads the call of that ID, and answers it with a report.
func answers(id int64, report string) act {
	return func(_ context.Context, stdin *bufio.Reader, stdout, _ io.Writer) error {
		line, err := stdin.ReadBytes('\n')
		if err != nil {
			return err
		}
		var call helperapi.Call
		if err := json.Unmarshal(line, &call); err != nil || call.ID != id {
			return fmt.Errorf("call %d is %q: %w", id, line, err)
		}
		_, err = fmt.Fprintf(stdout, `{"id":%d,"report":%s}`+"\n", id, report)
		return err
	}
}

// readsCall reads one call.
func readsCall(_ context.Context, stdin *bufio.Reader, _, _ io.Writer) error {
	_, err := stdin.ReadBytes('\n')
	return err
}

// openFake opens a session through e, and closes it when the test ends.
func openFake(t *testing.T, e *Exec) Session {
	t.Helper()
	s, err := e.Open(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Several calls share one exec, and each passes the seam. The outcome of a call, good or
// bad, does not affect the next one.
func TestSession(t *testing.T) {
	e := anExec(acts(reads("uid-1\n"), prints(hello),
		answers(1, `{"processes":[{"pid":7,"startTime":9}]}`),
		reads(`{"id":2,"verb":"stage","request":{"podUID":"uid-1"}}`+"\n"), prints(`{"id":2,"send":7}`+"\n"), reads("content"), prints(`{"id":2,"report":{}}`+"\n"),
		answers(3, `{"error":{"reason":"Busy","message":"Another one works on it."}}`),
		answers(4, `{"helperVersion":"4"}`), untilEnd))
	var seen []string
	e.seam = func(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
		seen = append(seen, fmt.Sprint(effect.Kind, " ", effect.What))
		return do(ctx)
	}
	s := openFake(t, e)
	report, err := s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
	if err != nil || len(report.Processes) != 1 {
		t.Errorf("inspect: %+v, %v", report, err)
	}
	_, err = s.Run(t.Context(), helperapi.VerbStage, helperapi.Request{}, NewBlob("", []byte("con"), ""), NewBlob("", []byte("tent"), ""))
	wantError(t, err, "", "")
	report, err = s.Run(t.Context(), helperapi.VerbLoad, helperapi.Request{})
	wantError(t, err, v1alpha1.ReasonBusy, "Another one works on it.")
	if report == nil {
		t.Error("the report of the failure is missing")
	}
	report, err = s.Run(t.Context(), helperapi.VerbStatus, helperapi.Request{})
	if err != nil || report.HelperVersion != "4" {
		t.Errorf("status: %+v, %v", report, err)
	}
	s.Close()
	wantFree(t, e.limits)
	want := []string{"exec session", "helper inspect", "helper stage", "helper load", "helper status"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// However a session breaks off, all further calls fail, and its place is free.
func TestSessionBreaksOff(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	cases := map[string]struct {
		act  act
		want string
		says string
	}{
		"the stream is lost":             {act: acts(readsCall, dies(io.ErrUnexpectedEOF)), want: v1alpha1.ReasonExecFailed, says: "was interrupted"},
		"in the middle of a file":        {act: acts(readsCall, prints(`{"id":1,"send":1048576}`+"\n"), reads(long[:1<<19]), dies(io.ErrUnexpectedEOF)), want: v1alpha1.ReasonExecFailed, says: "was interrupted"},
		"killed in the middle of a file": {act: acts(readsCall, prints(`{"id":1,"send":1048576}`+"\n"), reads(long[:1<<19]), ends(137, "")), want: v1alpha1.ReasonHelperKilled, says: "The helper was killed (SIGKILL)"},
		"the helper ends":                {act: acts(dies(nil)), want: v1alpha1.ReasonHelperFailed, says: "exited before it answered"},
		"the helper panics":              {act: acts(readsCall, ends(2, "panic: oh")), want: v1alpha1.ReasonHelperFailed, says: "panic: oh."},
		"no JSON":                        {act: acts(readsCall, prints("hello\n"), hangs), want: v1alpha1.ReasonHelperFailed, says: "cannot be read"},
		"the answer to another call":     {act: acts(readsCall, prints(`{"id":7,"report":{}}`+"\n"), hangs), want: v1alpha1.ReasonHelperFailed, says: "cannot be read"},
		"it asks for more":               {act: acts(readsCall, prints(`{"id":1,"send":1048577}`+"\n"), hangs), want: v1alpha1.ReasonHelperFailed, says: "cannot be read"},
		"it asks twice":                  {act: acts(readsCall, prints(strings.Repeat(`{"id":1,"send":1048576}`+"\n", 2)), hangs), want: v1alpha1.ReasonHelperFailed, says: "cannot be read"},
		"an answer without end":          {act: acts(readsCall, floods("x")), want: v1alpha1.ReasonHelperFailed, says: "exceeded the limit"},
		"standard error without end": {act: func(ctx context.Context, _ *bufio.Reader, _, stderr io.Writer) error {
			for ctx.Err() == nil {
				_, _ = io.WriteString(stderr, long)
			}
			return ctx.Err()
		}, want: v1alpha1.ReasonHelperFailed, says: "exceeded the limit"},
		"no answer": {act: acts(readsCall, hangs), want: v1alpha1.ReasonExecTimeout, says: "in time"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := anExec(acts(reads("uid-1\n"), prints(hello), tc.act))
				s := openFake(t, e)
				for range 2 {
					_, err := s.Run(t.Context(), helperapi.VerbStage, helperapi.Request{}, NewBlob("", []byte(long), ""))
					wantError(t, err, tc.want, tc.says)
				}
				s.Close()
				wantFree(t, e.limits)
			})
		})
	}
}

// A call ends with its own context, and the session with the context of Open.
func TestSessionIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, opens := range []bool{true, false} {
			e := anExec(acts(reads("uid-1\n"), prints(hello), hangs))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			openCtx, runCtx := t.Context(), ctx
			if opens {
				openCtx, runCtx = runCtx, openCtx
			}
			s, err := e.Open(openCtx, app)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err = s.Run(runCtx, helperapi.VerbStatus, helperapi.Request{})
			wantError(t, err, v1alpha1.ReasonExecTimeout, "")
			if took := time.Since(begin); took != time.Second {
				t.Errorf("it took %s", took)
			}
			cancel()
			s.Close()
			wantFree(t, e.limits)
		}
	})
}

// Close stops waiting after wire.CloseTimeout for a helper that does not exit when its input
// ends.
func TestCloseEnds(t *testing.T) {
	for name, command := range map[string]act{
		"it hangs": acts(reads("uid-1\n"), prints(hello), hangs),
		"it talks": acts(reads("uid-1\n"), prints(hello), func(ctx context.Context, _ *bufio.Reader, stdout, _ io.Writer) error {
			for ctx.Err() == nil {
				_, _ = io.WriteString(stdout, "x\n")
				select {
				case <-ctx.Done():
				case <-time.After(time.Millisecond):
				}
			}
			return ctx.Err()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := anExec(command)
				s := openFake(t, e)
				begin := time.Now()
				s.Close()
				if took := time.Since(begin); took != wire.CloseTimeout {
					t.Errorf("it took %s", took)
				}
				wantFree(t, e.limits)
			})
		})
	}
}

// A request that the helper would reject as too long is not sent.
func TestRequestTooLong(t *testing.T) {
	s := openFake(t, anExec(acts(reads("uid-1\n"), prints(hello), answers(2, "{}"), untilEnd)))
	rules := slices.Repeat([]helperapi.ProcessRule{{Action: helperapi.RuleExclude, MainClass: strings.Repeat("x", 1024)}}, 64)
	_, err := s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{Rules: rules})
	wantError(t, err, v1alpha1.ReasonBadRequest, "65536")
	_, err = s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
	wantError(t, err, "", "")
}

// Whatever a container answers, the reasons of the report are known, and its messages fit
// into a record.
func TestReportIsTyped(t *testing.T) {
	r := &helperapi.Report{}
	if err := json.Unmarshal([]byte(`{"error": {"reason": "x-8f3a", "message": "`+strings.Repeat("x", 100_000)+`"},
		"processes": [{"refusal": {"reason": "x-8f3b", "message": "a\nb"}}, {"refusal": {"reason": "JVMStarting", "message": "It starts"}}, {}]}`), r); err != nil {
		t.Fatal(err)
	}
	r, err := sanitize(r)
	known, ok := errors.AsType[*Error](err)
	if !ok || known.Reason != v1alpha1.ReasonHelperFailed || len(known.Message) > maxSentence+10 {
		t.Errorf("the error is %.200v", err)
	}
	var got []string
	for _, p := range r.Processes {
		if p.Refusal != nil {
			got = append(got, string(p.Refusal.Reason)+": "+p.Refusal.Message)
		}
	}
	if want := "HelperFailed: a., JVMStarting: It starts."; strings.Join(got, ", ") != want {
		t.Errorf("the refusals are %q, want %q", got, want)
	}
}
