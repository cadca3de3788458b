package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// act is what a scripted command does, or a part of it. As the whole, it is the
// streams of the exec that starts the command.
type act func(ctx context.Context, stdin *bufio.Reader, stdout, stderr io.Writer) error

func (a act) Stream(ctx context.Context, _ Container, _ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return a(ctx, bufio.NewReader(stdin), stdout, stderr)
}

// acts does one thing after the other, and ends at the first error.
func acts(acts ...act) act {
	return func(ctx context.Context, stdin *bufio.Reader, stdout, stderr io.Writer) error {
		for _, act := range acts {
			if err := act(ctx, stdin, stdout, stderr); err != nil {
				return err
			}
		}
		return nil
	}
}

// prints prints on standard output.
func prints(text string) act {
	return func(_ context.Context, _ *bufio.Reader, stdout, _ io.Writer) error {
		_, err := io.WriteString(stdout, text)
		return err
	}
}

// reads fails unless this comes in.
func reads(text string) act {
	return func(_ context.Context, stdin *bufio.Reader, _, _ io.Writer) error {
		got := make([]byte, len(text))
		if _, err := io.ReadFull(stdin, got); err != nil {
			return err
		}
		if string(got) != text {
			return fmt.Errorf("read %q, want %q", got, text)
		}
		return nil
	}
}

// ends ends the command, which says so if it has an exit code of its own.
func ends(code int, stderr string) act {
	return func(_ context.Context, stdin *bufio.Reader, stdout, errout io.Writer) error {
		if _, err := io.WriteString(errout, stderr); err != nil {
			return err
		}
		if _, err := io.WriteString(stdout, "\n"+wire.EndLine+"\n"); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, stdin); err != nil {
			return err
		}
		return exited(code, "")
	}
}

// dies ends the command at once.
func dies(err error) act {
	return func(context.Context, *bufio.Reader, io.Writer, io.Writer) error { return err }
}

// hangs does nothing until the stream is canceled.
func hangs(ctx context.Context, _ *bufio.Reader, _, _ io.Writer) error {
	<-ctx.Done()
	return ctx.Err()
}

// floods prints until the stream is canceled, as client-go, which goes on.
func floods(text string) act {
	return func(ctx context.Context, _ *bufio.Reader, stdout, _ io.Writer) error {
		for ctx.Err() == nil {
			_, _ = io.WriteString(stdout, strings.Repeat(text, 4096/len(text)))
		}
		return ctx.Err()
	}
}

// untilEnd reads the rest of standard input.
func untilEnd(_ context.Context, stdin *bufio.Reader, _, _ io.Writer) error {
	_, err := io.Copy(io.Discard, stdin)
	return err
}

const hello = "\n" + `{"hello":{"version":"1","instance":"app/1"}}` + "\n"

// anExec is an Exec into a container that is a fake.
func anExec(streams Streams) *Exec {
	helper := NewBlob("jmx-attach-", []byte("amd64"), "")
	return &Exec{streams: streams, artifacts: &Artifacts{Helpers: map[string]Blob{"x86_64": helper}}, seam: effects.Direct, limits: NewLimits(1, 1, 1)}
}

var app = Container{Namespace: "ns", Pod: "app-0", PodUID: "uid-1", Name: "app", Node: "node-1"}

// wantError makes sure of an *Error with this reason that says something.
func wantError(t *testing.T, err error, reason, says string) {
	t.Helper()
	var known *Error
	if reason == "" {
		if err != nil {
			t.Errorf("error: %v", err)
		}
		return
	}
	if !errors.As(err, &known) || known.Reason != reason || !strings.Contains(known.Message, says) {
		t.Errorf("error: %#v, want %s: %q", err, reason, says)
	}
}

// wantFree makes sure that no place is taken.
func wantFree(t *testing.T, l *Limits) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for state, taken := range l.taken {
		if len(taken) != 0 {
			t.Errorf("places are still taken: %v of state %d", taken, state)
		}
	}
}

func TestOpen(t *testing.T) {
	cases := map[string]struct {
		command act
		want    string // reason; none if empty
		says    string
	}{
		"the helper is there":    {command: acts(reads("uid-1\n"), prints(hello), untilEnd)},
		"the helper is missing":  {command: acts(reads("uid-1\n"), prints("\njmx-attach send x86_64\n"), reads("\namd64"), prints(hello), untilEnd)},
		"a shell has a banner":   {command: acts(prints("Welcome!\n{}\n{\"motd\": 1}\n$ "), reads("uid-1\n"), prints(hello), untilEnd)},
		"the helper arrives cut": {acts(prints("jmx-attach send x86_64\n"), ends(exitCut, "")), v1alpha1.ReasonStagingIncomplete, "sending it again"},
		"no space is left":       {acts(prints("jmx-attach send x86_64\n"), ends(exitWriteFailed, "head: No space left on device")), v1alpha1.ReasonNoSpace, "No space left on device."},
		"another pod":            {acts(ends(exitWrongPod, "")), v1alpha1.ReasonWrongPod, "UID"},
		"a machine that nobody knows": {
			acts(prints("jmx-attach send z80\n"), ends(exitCut, "")), v1alpha1.ReasonHelperFailed, "architecture",
		},
		"the helper, twice":        {acts(prints("jmx-attach send x86_64\n"), reads("uid-1\n\namd64"), prints("jmx-attach send x86_64\n"), hangs), v1alpha1.ReasonHelperFailed, "more than once"},
		"a banner without end":     {acts(floods("x\n")), v1alpha1.ReasonHelperFailed, "exceeded the limit"},
		"a line without end":       {acts(floods("x")), v1alpha1.ReasonHelperFailed, "exceeded the limit"},
		"the helper dies":          {acts(dies(exited(137, ""))), v1alpha1.ReasonHelperKilled, "The helper was killed (SIGKILL)"},
		"the helper ends":          {acts(dies(nil)), v1alpha1.ReasonHelperFailed, "exited before it answered"},
		"the stream is lost":       {acts(dies(io.ErrUnexpectedEOF)), v1alpha1.ReasonExecFailed, "was interrupted"},
		"the helper cannot be run": {acts(ends(126, "sh: Permission denied")), v1alpha1.ReasonHelperNotExecutable, "Permission denied."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := anExec(tc.command)
			var seen []string
			e.seam = func(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
				seen = append(seen, effect.String())
				return do(ctx)
			}
			s, err := e.Open(t.Context(), app)
			wantError(t, err, tc.want, tc.says)
			if diff := cmp.Diff([]string{"exec session ns/app-0/app"}, seen); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if err == nil {
				if s.Hello().Instance != "app/1" {
					t.Errorf("hello is %+v", s.Hello())
				}
				s.Close()
			}
			wantFree(t, e.limits)
		})
	}
}

// Where no Java runs nothing is installed, and a look finds nothing.
func TestOpenWithoutJava(t *testing.T) {
	e := anExec(acts(reads("uid-1\n"), ends(exitNoJava, "")))
	s, err := e.Open(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	wantFree(t, e.limits) // while the session lasts
	for verb, want := range map[helperapi.Verb]string{
		helperapi.VerbInspect: "", helperapi.VerbUnload: "",
		helperapi.VerbStage: v1alpha1.ReasonProcessGone, helperapi.VerbLoad: v1alpha1.ReasonProcessGone, helperapi.VerbStatus: v1alpha1.ReasonProcessGone,
	} {
		report, err := s.Run(t.Context(), verb, helperapi.Request{})
		wantError(t, err, want, "")
		if want == "" && (report == nil || len(report.Processes) > 0) {
			t.Errorf("%s: %+v", verb, report)
		}
	}
	s.Close()
}

// A container that says nothing soon, since its runtime hangs for instance, loses its
// place, also where the stream does not end when it is canceled.
func TestHelloLate(t *testing.T) {
	for name, tc := range map[string]struct {
		command act
		after   time.Duration
	}{
		"nothing at all":         {acts(hangs), helloTimeout},
		"a banner only":          {acts(prints("Welcome!\n"), hangs), helloTimeout},
		"the helper stays away":  {acts(prints("jmx-attach send x86_64\n"), reads("uid-1\n\namd64"), hangs), installTimeout},
		"the helper is not read": {acts(reads("uid-1\n"), prints("jmx-attach send x86_64\n"), hangs), installTimeout},
		"the end does not come":  {acts(prints(wire.EndLine+"\n"), hangs), helloTimeout},
		"a stream that stays": {func(context.Context, *bufio.Reader, io.Writer, io.Writer) error {
			time.Sleep(time.Hour)
			return nil
		}, helloTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := anExec(tc.command)
				begin := time.Now()
				_, err := e.Open(t.Context(), app)
				wantError(t, err, v1alpha1.ReasonContainerNotResponding, "5s")
				if took := time.Since(begin); took != tc.after {
					t.Errorf("it took %s, want %s", took, tc.after)
				}
				wantFree(t, e.limits)
				time.Sleep(time.Hour)
			})
		})
	}
}

// The operator may die before or after the exec: no stream and no place is left.
func TestOpenThroughSeam(t *testing.T) {
	crash := errors.New("crash")
	for name, seam := range map[string]effects.Seam{
		"before": func(context.Context, effects.Effect, func(context.Context) error) error { return crash },
		"after": func(ctx context.Context, _ effects.Effect, do func(context.Context) error) error {
			return errors.Join(do(ctx), crash)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := anExec(acts(prints(hello), untilEnd))
			e.seam = seam
			if _, err := e.Open(t.Context(), app); !errors.Is(err, crash) {
				t.Errorf("got %v", err)
			}
			wantFree(t, e.limits)
		})
	}
}
