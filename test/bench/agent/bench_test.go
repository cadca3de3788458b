//go:build linux

package main

import (
	"os"
	"strconv"
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

func TestLongestPause(t *testing.T) {
	const log = `[0.012s][info][gc] Using Serial
[1.234s][info][gc] GC(0) Pause Young (Allocation Failure) 273M->31M(989M) 45.678ms
[2.345s][info][gc] GC(1) Pause Full (Allocation Failure) 300M->31M(989M) 123.400ms
[2.345s][info][gc] GC(2) Concurrent Mark Cycle 999.000ms
[3.456s][info][gc] GC(3) Pause Young (Allocation Failure) 273M->31M(989M) 5.678ms
`
	if got, err := longest([]byte(log)); err != nil || got != 123400*time.Microsecond {
		t.Errorf("the longest pause is %v, %v", got, err)
	}
}

func TestThreads(t *testing.T) {
	list, err := threads(os.Getpid())
	if own := list[strconv.Itoa(os.Getpid())]; err != nil || own.name == "" || own.cpu <= 0 {
		t.Errorf("the main thread is %+v, %v", own, err)
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
