//go:build linux

package jvm

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// HotSpot opens its socket within two or three polls; a paused JVM takes much longer.
func TestPollBacksOff(t *testing.T) {
	var p poll
	for look := range shortPolls {
		if got := p.next(); got != time.Millisecond {
			t.Errorf("after look %d the next is due in %s, want 1ms", look+1, got)
		}
	}
	var later []int64
	for range 9 {
		later = append(later, p.next().Milliseconds())
	}
	if diff := cmp.Diff([]int64{2, 4, 8, 16, 32, 64, 100, 100, 100}, later); diff != "" {
		t.Errorf("milliseconds between later looks (-want +got):\n%s", diff)
	}
}

// counting is a context that counts calls of Done, one per poll.
type counting struct {
	context.Context
	waits int
}

func (c *counting) Done() <-chan struct{} {
	c.waits++
	return c.Context.Done()
}

// A paused JVM, before or after its start, shares its CPU limit with the helper: about
// fifty polls within two seconds are acceptable, one per millisecond would be two
// thousand. A slow machine polls less often, never more.
func TestPausedJVMIsPolledSeldom(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*Process)
		want    Kind
	}{
		"awaiting the attach socket": {func(*Process) {}, AttachTimeout},
		"awaiting the live phase": {func(p *Process) {
			p.Version = "21" // of which no other thread shows it
		}, JVMStarting},
	} {
		t.Run(name, func(t *testing.T) {
			app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-XX:-UseNotificationThread"}})
			p := found(t, app.PID)
			test.prepare(&p)
			if err := syscall.Kill(app.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			ctx := &counting{Context: short}
			wantKind(t, p.Attach(ctx), test.want)
			if ctx.waits < 2 || ctx.waits > 100 {
				t.Errorf("it was polled %d times within two seconds", ctx.waits)
			}
		})
	}
}
