//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestPageKeepsWhatIsOutsideOfTheMarkers(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeBetweenMarkers(page, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("before\n"+begin+"\nnew\n\n"+end+"after\n", string(got)); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(page, []byte("no markers"), 0o644); err != nil {
		t.Fatal(err)
	}
	if writeBetweenMarkers(page, "new") == nil {
		t.Error("a page without markers is written")
	}
}

func TestCPUTimeGrowsWithWork(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		now, err := cpuTime(os.Getpid())
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
