//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
)

func TestTableComparesMedians(t *testing.T) {
	result := func(ours, stock time.Duration) pair {
		return pair{cost{loadCPU: ours}, cost{loadCPU: stock}}
	}
	text := table(jdk{version: "17"}, []int{100}, map[int][]pair{100: {
		result(100*time.Millisecond, 200*time.Millisecond),
		result(900*time.Millisecond, 300*time.Millisecond),
		result(120*time.Millisecond, 100*time.Millisecond),
	}})
	const want = "| CPU of the load, ms | 120 (100 to 900) | 200 (100 to 300) | 1.20 (0.50 to 3.00) | **missed** |\n"
	if !strings.Contains(text, want) {
		t.Errorf("the table lacks %q:\n%s", want, text)
	}
}

func TestPerfCountersRejectOtherFiles(t *testing.T) {
	for name, content := range map[string]string{
		"empty":     "",
		"other":     strings.Repeat("x", 100),
		"truncated": "\xca\xfe\xc0\xc0\x01\x02\x00\x01" + strings.Repeat("\x00", 16) + "\x20\x00\x00\x00\x05\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := perfCounters([]byte(content)); err == nil {
				t.Error("no error")
			}
		})
	}
}
