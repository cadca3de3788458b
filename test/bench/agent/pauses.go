//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// pause is a line of HotSpot's unified logging (JEP 158, JEP 271), tag gc.
var pause = regexp.MustCompile(`(?m)^\[.*\] GC\(\d+\) Pause .* ([0-9.]+)ms$`)

// logged returns how many bytes the log of pauses has.
func (a *application) logged() (int64, error) {
	info, err := os.Stat(a.pauses)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// longestPause returns the longest pause for a garbage collection that was logged
// from an offset on; 0 if there was none.
func (a *application) longestPause(offset int64) (time.Duration, error) {
	log, err := os.ReadFile(a.pauses)
	if err != nil {
		return 0, err
	}
	return longest(log[offset:])
}

func longest(log []byte) (time.Duration, error) {
	var longest time.Duration
	for _, match := range pause.FindAllSubmatch(log, -1) {
		milliseconds, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return 0, fmt.Errorf("log of pauses: %w", err)
		}
		longest = max(longest, time.Duration(milliseconds*float64(time.Millisecond)))
	}
	return longest, nil
}
