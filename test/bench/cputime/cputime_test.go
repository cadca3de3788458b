//go:build linux

package cputime

import (
	"os"
	"testing"
	"time"
)

func TestGrowsWithWork(t *testing.T) {
	before, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		now, err := Of(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a minute of work has no CPU time")
		}
	}
}
