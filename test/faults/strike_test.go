package faults

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// action is what happens in an operator at an effect.
type action string

const (
	// killed ends the process by SIGKILL: nothing of it runs any more.
	killed action = "killed"
	// panics panics in the goroutine of the effect.
	panics action = "panics"
	// deposed waits until the operator has noticed that its Lease is another's.
	deposed action = "deposed"
	// waits waits for the test, which changes something meanwhile.
	waits action = "waits"
)

// strike is a fault in an operator, before or after one of its effects.
type strike struct {
	// Effect is the name of the effect, and Nth its occurrence under that name, starting
	// at 1: the order of different effects may differ between runs. Without a name, it is
	// the nth effect of the operator.
	Effect string
	Nth    int
	After  bool
	Action action
}

// String returns a name for a subtest.
func (s strike) String() string {
	when := "before"
	if s.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s %s, %d", s.Action, when, cmp.Or(s.Effect, "any effect"), s.Nth)
}

// named is the name of an effect, which is the same in each run.
func named(e effects.Effect) string { return fmt.Sprintf("%s %s", e.Kind, e.What) }

// message is a line from an operator to the test.
type message struct {
	// Effect is the name of an effect that begins.
	Effect string `json:",omitempty"`
	// Struck says that the strike happens. The operator waits for a line, except where its
	// process ends.
	Struck bool `json:",omitempty"`
}

// seam reports all effects on standard output, and strikes. A nil strike never does.
func (s *strike) seam() effects.Seam {
	var mu sync.Mutex
	seen, lines, answers := map[string]int{}, json.NewEncoder(os.Stdout), bufio.NewReader(os.Stdin)
	send := func(what message) { _ = lines.Encode(what) } // without the test, nobody reads
	return func(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
		name := named(effect)
		mu.Lock()
		seen[name]++
		seen[""]++
		send(message{Effect: name})
		strikes := s != nil && (name == s.Effect || s.Effect == "") && seen[s.Effect] == s.Nth
		mu.Unlock()
		if !strikes {
			return do(ctx)
		}
		happen := func() {
			mu.Lock()
			send(message{Struck: true})
			mu.Unlock()
			s.act(ctx, answers)
		}
		if s.After {
			err := do(ctx)
			happen()
			return err
		}
		happen()
		return do(ctx)
	}
}

func (s *strike) act(ctx context.Context, answers *bufio.Reader) {
	switch s.Action {
	case killed:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case panics:
		panic("a fault of the test")
	case deposed:
		_, _ = answers.ReadString('\n')
		<-ctx.Done()
	case waits:
		_, _ = answers.ReadString('\n')
	}
}
