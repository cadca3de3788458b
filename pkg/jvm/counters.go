//go:build linux

package jvm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoCounters means that the JVM has no file of performance counters, by its options or
// because somebody removed it.
var ErrNoCounters = errors.New("the JVM has no file of performance counters in /tmp (-XX:-UsePerfData, -XX:+PerfDisableSharedMem, or a process that cleans /tmp)")

// ErrNotCollected means that the JVM has not collected garbage yet.
var ErrNotCollected = errors.New("the JVM has not collected any yet")

// counters are HotSpot's performance counters that are numbers, by their names.
type counters struct {
	numbers map[string]int64
	names   map[string]string
}

// Space is a part of a JVM's memory: its limit and how much of it is used, in bytes.
type Space struct {
	Limit, Used int64
}

// Free is how much of the space is free.
func (s Space) Free() int64 { return max(0, s.Limit-s.Used) }

// HeapAfterCollection returns the heap as it was after the last collection, by the
// performance counters that the JVM maps to a file: without a signal, or anything in the
// JVM. The limit is at least that of the heap (JDK 28 counts a quarter more with its
// Parallel collector). It returns ErrNoCounters, ErrNotCollected, or why the counters cannot
// be read.
func (p Process) HeapAfterCollection() (Space, error) {
	var c counters
	err := p.As(func() error {
		data, err := p.counterFile()
		if err == nil {
			c, err = parseCounterFile(data)
		}
		return err
	})
	if errors.Is(err, ErrNoCounters) {
		return Space{}, ErrNoCounters
	}
	if err != nil {
		return Space{}, fmt.Errorf("its performance counters cannot be read: %w", err)
	}
	used, known := c.liveHeap()
	limit := c.maxHeap()
	if !known || limit == 0 {
		return Space{}, ErrNotCollected
	}
	return Space{Limit: limit, Used: used}, nil
}

// counterFile returns the content of /tmp/hsperfdata_<user>/<pid>. The user's name is not
// known outside the container. The JVM maps the file, which distinguishes it from that of
// another JVM with the same PID, where containers share a /tmp.
func (p Process) counterFile() ([]byte, error) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	top, err := tmp.Open(".")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	const most = 10_000 // files in /tmp
	names, _ := top.Readdirnames(most)
	for _, name := range names {
		if !strings.HasPrefix(name, "hsperfdata_") {
			continue
		}
		file := path.Join(name, strconv.Itoa(p.NamespacePID))
		info, err := tmp.Lstat(file)
		if err != nil || !p.owns(info) || !p.maps(info) {
			continue
		}
		data, err := readRegular(tmp, file)
		return []byte(data), err
	}
	return nil, ErrNoCounters
}

// maps reports whether the process maps a file, by its inode in proc_pid_maps(5).
func (p Process) maps(info fs.FileInfo) bool {
	f, err := os.Open(procPath(p.PID, "maps"))
	if err != nil {
		return false
	}
	defer f.Close()
	inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	found := false
	err = eachMapping(f, maxMaps, func(line []byte) bool {
		fields := strings.Fields(string(line))
		found = len(fields) > 5 && fields[4] == inode && strings.Contains(fields[5], "hsperfdata_")
		return !found
	})
	return found && err == nil
}

var errInvalidCounters = errors.New("these are no performance counters")

// parseCounterFile parses the file of performance counters (PerfDataPrologue and
// PerfDataEntry in perfMemory.hpp and perfData.hpp). The JVM changes values meanwhile, but
// not the entries that exist.
func parseCounterFile(data []byte) (counters, error) {
	const prologue, entry = 32, 20
	if len(data) < prologue || binary.BigEndian.Uint32(data) != 0xcafec0c0 {
		return counters{}, errInvalidCounters
	}
	var order binary.ByteOrder = binary.BigEndian
	if data[4] == 1 {
		order = binary.LittleEndian
	}
	c := counters{numbers: map[string]int64{}, names: map[string]string{}}
	rest := data
	offset, n := order.Uint32(data[24:]), order.Uint32(data[28:])
	for ; n > 0; n-- {
		if uint64(offset) > uint64(len(rest)) || len(rest[offset:]) < entry {
			return counters{}, errInvalidCounters
		}
		rest = rest[offset:]
		length, name, vector, value := order.Uint32(rest), order.Uint32(rest[4:]), order.Uint32(rest[8:]), order.Uint32(rest[16:])
		if length < entry || uint64(length) > uint64(len(rest)) || name >= length || value > length {
			return counters{}, errInvalidCounters
		}
		c.add(text(rest[name:length]), rest[12], rest[value:length], vector, order)
		offset = length
	}
	return c, nil
}

// add notes the value of a counter: a long (J) or a string (a vector of B).
func (c counters) add(name string, kind byte, value []byte, vector uint32, order binary.ByteOrder) {
	switch {
	case kind == 'J' && vector == 0 && len(value) >= 8:
		c.numbers[name] = int64(order.Uint64(value))
	case kind == 'B' && vector > 0:
		c.names[name] = text(value)
	}
}

// text returns the characters before a NUL.
func text(data []byte) string {
	s, _, _ := strings.Cut(string(data), "\x00")
	return s
}

// mostHeap exceeds any heap, in bytes.
const mostHeap = 1 << 50

// liveHeap returns the used bytes of all spaces. HotSpot updates them at the end of a
// collection only; before the first one, they are not known.
func (c counters) liveHeap() (used int64, known bool) {
	for name, n := range c.numbers {
		switch {
		case strings.HasPrefix(name, "sun.gc.generation.") && strings.HasSuffix(name, ".used"):
			if n > 0 && n < mostHeap {
				used += n
			}
		case strings.HasPrefix(name, "sun.gc.collector.") && strings.HasSuffix(name, ".invocations"):
			known = known || n > 0
		}
	}
	return used, known
}

// maxHeap returns the limit of the heap: the sum of those of its generations without the
// survivor space that is always empty, or the limit of each of them in collectors that move
// regions between generations.
func (c counters) maxHeap() (limit int64) {
	var total, largest int64
	for name, n := range c.numbers {
		if generation, found := strings.CutSuffix(name, ".maxCapacity"); found && strings.Count(generation, ".") == 3 && strings.HasPrefix(name, "sun.gc.generation.") {
			n = min(max(0, n), mostHeap)
			total += n
			largest = max(largest, n)
		}
	}
	for _, collector := range []string{"G1", "Z", "Shenandoah"} {
		if strings.HasPrefix(c.names["sun.gc.collector.0.name"], collector) {
			return largest
		}
	}
	return total - c.numbers["sun.gc.generation.0.space.2.capacity"]
}
