package transport

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// starting counts the commands that its Streams starts.
type starting struct {
	Streams
	started *atomic.Int64
}

func (c starting) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c.started.Add(1)
	return c.Streams.Stream(ctx, in, command, stdin, stdout, stderr)
}

// A command that hangs stays in the container. Although a container that hangs is tried
// every ten minutes, only a few are left there in a day. A command that never began does
// not count, and one that ends shows that the container recovered.
func TestLeftovers(t *testing.T) {
	const tries, few, inADay = 144, 13, 144
	const sends = "\n" + saysSend + "x86_64\n"
	script := acts(prints("\n"), hangs)
	call := acts(reads("uid-1\n"), prints(hello), hangs)
	recovers := func(after int) act {
		n := 0
		return func(ctx context.Context, stdin *bufio.Reader, stdout, stderr io.Writer) error {
			if n++; n > after {
				return acts(reads("uid-1\n"), prints(hello), answers(1, "{}"), untilEnd)(ctx, stdin, stdout, stderr)
			}
			return script(ctx, stdin, stdout, stderr)
		}
	}
	for name, tc := range map[string]struct {
		command act
		replace bool // replaces the container before each try
		want    int64
		reason  string // of the last try
	}{
		"a tool hangs":                 {command: script, want: few, reason: v1alpha1.ReasonContainerNotResponding},
		"the helper hangs in a call":   {command: call, want: few, reason: v1alpha1.ReasonContainerNotResponding},
		"the container is another one": {command: script, replace: true, want: inADay, reason: v1alpha1.ReasonContainerNotResponding},
		"the runtime hangs":            {command: hangs, want: inADay, reason: v1alpha1.ReasonContainerNotResponding},
		"the exec is refused":          {command: dies(wire.ErrClosed), want: inADay, reason: v1alpha1.ReasonExecFailed},
		"it recovers":                  {command: recovers(9), want: 9 + inADay - 19},
		"a shell sends twice for it":   {command: acts(prints(sends), prints(sends), untilEnd), want: inADay, reason: v1alpha1.ReasonHelperFailed},
		"an answer cannot be read":     {command: acts(reads("uid-1\n"), prints(hello), prints("no JSON\n"), untilEnd), want: inADay, reason: v1alpha1.ReasonHelperFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int64
				e, in := anExec(starting{tc.command, &started}), app
				var err error
				for range tries {
					sessions := NewSessions(e)
					_, err = sessions.Run(t.Context(), in, helperapi.VerbInspect, helperapi.Request{})
					sessions.Close()
					if tc.replace {
						in.ID += "1"
					}
					time.Sleep(10 * time.Minute)
				}
				if got := started.Load(); got != tc.want {
					t.Errorf("in a day, %d commands were started, want %d", got, tc.want)
				}
				if tc.reason != "" {
					wantError(t, err, tc.reason, "")
				}
				wantFree(t, e.limits)
			})
		})
	}
}

// A container that answers has no leftovers: neither if the reconcile times out while its
// session waits for the next call, for instance because the API server hangs, nor if the
// command's end is reported late.
func TestLeftoversOfNone(t *testing.T) {
	for name, tc := range map[string]struct{ open, end time.Duration }{
		"the reconcile ends":       {open: 2 * time.Minute},
		"the end is reported late": {end: 2 * wire.CloseTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := anExec(acts(reads("uid-1\n"), prints(hello), untilEnd, sleeps(tc.end)))
				for range 2 * maxLeftovers {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if s, err := e.Open(ctx, app); err != nil {
						t.Error(err)
					} else {
						time.Sleep(tc.open)
						s.Close()
					}
					cancel()
				}
				wantFree(t, e.limits)
				time.Sleep(tc.end) // until the last command ends
			})
		})
	}
}

// A detach has only a few minutes. It is tried once in a container with leftovers, which
// may have recovered, since the agent would stay otherwise.
func TestLeftoversLetDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int64
		e, in := anExec(starting{acts(prints("\n"), hangs), &started}), app
		for range 144 {
			_, _ = e.Open(t.Context(), in)
			time.Sleep(10 * time.Minute)
		}
		before := started.Load()
		in.Origin.Purpose = PurposeDetach
		for range 3 {
			_, _ = e.Open(t.Context(), in)
		}
		if got := started.Load() - before; got != 1 {
			t.Errorf("a detach started %d commands, want 1", got)
		}
	})
}

// The script prints its first line before it does anything that could hang.
func TestScriptSaysThatItBegan(t *testing.T) {
	jvmtest.Run(t, exec.CommandContext(t.Context(), "sh", "-c", script)).AwaitOutput("\n")
}
