//go:build linux

package jvm

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestMain(m *testing.M) {
	StartTimeout = 0 // the tests' applications report when they are up
	if target := os.Getenv(foreignTarget); target != "" {
		otherUser(target)
		return
	}
	if user, err := strconv.Atoi(os.Getenv(actsAs)); err == nil {
		actAs(user)
		return
	}
	if pid, err := strconv.Atoi(os.Getenv(attacked)); err == nil {
		attackOn(pid)
		return
	}
	jvmtest.Main(m)
}

const (
	nobody   = 65534
	property = "jvmtest.agent"
	escaped  = " \u00e9\u4e16\U0001F600:=#!\\" // what the test agent puts behind its options
)

func found(t *testing.T, pid int) Process {
	t.Helper()
	start, err := StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Lookup(pid, start)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// set changes a variable until the test ends.
func set[T any](t *testing.T, variable *T, value T) {
	before := *variable
	t.Cleanup(func() { *variable = before })
	*variable = value
}

func attach(t *testing.T, p Process) {
	t.Helper()
	if err := p.Attach(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

func loadAgent(t *testing.T, p Process, options string) {
	t.Helper()
	if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), options); err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind Kind) {
	t.Helper()
	var typed *Error
	if !errors.As(err, &typed) || typed.Kind != kind {
		t.Fatalf("error is %v, want one of kind %s", err, kind)
	}
}

func wantProperty(t *testing.T, p Process, want string) {
	t.Helper()
	value, _, err := p.Property(deadline(t), property)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, value); diff != "" {
		t.Errorf("property (-want +got):\n%s", diff)
	}
}
