//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/bench/cputime"
)

// A state is what a JVM has used up to a moment, seen from outside: asking the
// JVM itself would cost it what is to be measured.
type state struct {
	cpu       time.Duration
	classes   int64
	anonymous int64
	threads   map[string]thread
	// logged are the bytes of the log of pauses.
	logged int64
}

// look waits until the JVM has nothing more to do (a compiler may work on long
// after what caused it), and returns its state.
func (a *application) look() (state, error) {
	const (
		window = 300 * time.Millisecond
		idle   = 2 * time.Millisecond
	)
	last, err := cputime.Of(a.pid)
	for deadline := time.Now().Add(time.Minute); err == nil; {
		time.Sleep(window)
		var now time.Duration
		now, err = cputime.Of(a.pid)
		if now-last < idle {
			break
		}
		if last = now; time.Now().After(deadline) {
			return state{}, errors.New("the JVM does not come to rest")
		}
	}
	if err != nil {
		return state{}, err
	}
	s := state{cpu: last}
	if s.classes, err = classes(a.pid); err != nil {
		return state{}, err
	}
	if s.anonymous, err = anonymous(a.pid); err != nil {
		return state{}, err
	}
	if s.threads, err = threads(a.pid); err != nil {
		return state{}, err
	}
	s.logged, err = a.logged()
	return s, err
}

// anonymous is RssAnon of proc_pid_status(5), in bytes: what of a process's memory
// no file backs, so that the kernel cannot take it back under pressure.
func anonymous(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("no RssAnon in /proc/<pid>/status")
}

// classes counts the classes that a JVM has loaded, those of its shared archive
// included, by the counters that HotSpot keeps in a file for jstat.
func classes(pid int) (int64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/tmp/hsperfdata_*/%d", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no performance counters of %d in /tmp: %w", pid, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return 0, err
	}
	counters, err := perfCounters(content)
	return counters["java.cls.loadedClasses"] + counters["java.cls.sharedLoadedClasses"], err
}

// perfCounters reads the counters of type long from the file's format, version 2.0:
// HotSpot's perfMemory.hpp, PerfDataPrologue and PerfDataEntry.
func perfCounters(content []byte) (map[string]int64, error) {
	const prologue, header, long = 32, 20, 'J'
	if len(content) < prologue || !bytes.HasPrefix(content, []byte{0xca, 0xfe, 0xc0, 0xc0}) {
		return nil, errors.New("not a file of performance counters")
	}
	order := binary.ByteOrder(binary.BigEndian)
	if content[4] == 1 {
		order = binary.LittleEndian
	}
	entry, entries := order.Uint32(content[24:]), order.Uint32(content[28:])
	counters := map[string]int64{}
	for range entries {
		if int(entry)+header > len(content) {
			return nil, errors.New("the performance counters end early")
		}
		e := content[entry:]
		length, name, vector, data := order.Uint32(e), order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[16:])
		if e[12] == long && vector == 0 && int(data)+8 <= len(e) {
			text, _, _ := bytes.Cut(e[name:], []byte{0})
			counters[string(text)] = int64(order.Uint64(e[data:]))
		}
		entry += length
	}
	return counters, nil
}
